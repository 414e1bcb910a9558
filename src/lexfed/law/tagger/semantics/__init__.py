# SPDX-License-Identifier: Apache-2.0
"""The semantic network: categories from the meaning of names and descriptions.

Start with `network.py`, which reads and evaluates the weights in `../model/`.
`features.py` makes a row of numbers of each column, `embeddings.py` gives texts their
vectors. NumPy is imported with them, only when a column is tagged.

Training (`training/tagger`) shares `features.py`: a change of features, of their order
or of the categories needs a new training.
"""
