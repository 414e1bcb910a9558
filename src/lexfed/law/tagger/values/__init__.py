# SPDX-License-Identifier: Apache-2.0
"""Evidence from a sample of values: recognisers, statistics, proxies.

Start with `evidence.py`, which lists the recognisers and asks them, and adds figures
that confirm without deciding. `association.py` measures how strongly two columns depend
on each other and reports proxies.

Everything here happens on the machine that holds the values. Evidence is a
category, a weight and a sentence: never a value and never a number computed
from values. Proxies never change a tier.
"""
