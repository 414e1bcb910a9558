# SPDX-License-Identifier: Apache-2.0
"""The semantic network: categories from the meaning of names and descriptions.

Start with `network_evidence.py`, which imports the network, and NumPy with
it, only when a column is tagged. `features.py` makes a row of numbers of each
column, `embeddings.py` and `word_pieces.py` give texts their vectors,
`network.py` reads and evaluates the weights in `../model/`.

Training (`training/tagger`) and run time share `features.py`; a change of
features, of their order or of the categories needs a new training. A weight
file whose digest is not the one in `network.json` is refused.
"""
