# SPDX-License-Identifier: Apache-2.0
"""Sources that bring their own schema and tags: synthetic and bundled sets.

`registry.py` finds a source by its name. `bank.py` and `hospital.py` generate
people who do not exist, each with its public declaration in `*_columns.py`;
`scikit_learn_sets.py` declares two sets that come with scikit-learn.
`declarations.py` has the types, `draws.py` the random draws that generators
share.

To add a source, write its declaration and its generator, and enter it in
`registry.py`. Ranges are constants from public knowledge, never computed from
rows. Figures in documents and tests rest on the tables of fixed seeds: a
changed draw changes them.
"""
