# SPDX-License-Identifier: Apache-2.0
"""Sums over several aggregators: sites share their vectors, and may vanish.

    schemes     additive shares in a ring, and polynomials over GF(2^61 - 1)
    site        the terms, and a site that deals its vector once a round
    aggregator  holds shares, signs one list of sites, adds exactly that list

Start with `site`. Fewer aggregators than a scheme needs learn nothing, and there is
only one list of sites: docs/theory/secure-aggregation.md.
"""
