# SPDX-License-Identifier: Apache-2.0
"""Sources that bring their own schema and tags: synthetic and bundled sets.

`registry.py` finds a source by its name, and declares two sets that come with
scikit-learn. `bank.py` and `hospital.py` declare and generate people who do not exist;
`declarations.py` has the types, and the random draws that generators share.

Ranges are constants from public knowledge, never computed from rows. Figures in
documents and tests rest on the tables of fixed seeds: a changed draw changes them.
"""
