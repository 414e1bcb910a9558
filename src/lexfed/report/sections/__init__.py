# SPDX-License-Identifier: Apache-2.0
"""The parts of the report, each a table or a sentence made from the dossier.

`headline.py` is the first sentence, with the limits of the guarantee and people's open
tasks; `guarantee.py` and `spending.py` state the claim and what was spent. The record's
epsilon and a tier's belong to different relations: they never share an axis or a sum.
Spending is rounded up, noise and other protection down.
"""
