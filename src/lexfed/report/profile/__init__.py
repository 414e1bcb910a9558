# SPDX-License-Identifier: Apache-2.0
"""The page of a profile: answers with their intervals, drawn and in words.

`page.py` puts it together, `plots.py` draws histograms whose bars are joined until
their intervals are small, `wording.py` rounds a number to as many digits as those bear.
"""
