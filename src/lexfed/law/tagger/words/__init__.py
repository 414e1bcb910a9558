# SPDX-License-Identifier: Apache-2.0
"""Names and descriptions of columns, read as words of seven languages.

`normalisation.py` takes names apart, `lexicon.py` holds the terms with their
meanings and weights, and the small grammar of column names; `readings.py` reads texts
and whole tables, in the languages it finds: start there. `line_store.py` keeps the
records of large files as text and decodes them when needed.

The semantic network was trained on what these modules return: after a change the
probes of `tests/law/test_network.py` must still hold, or the network is trained again.
"""
