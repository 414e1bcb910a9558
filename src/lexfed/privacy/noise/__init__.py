# SPDX-License-Identifier: Apache-2.0
"""Integer noise, exact to a stated distance, and the grid that sums live on.

    gaussian    rounded Gaussian values, and the delta that pays for the sampler
    poisson     centred Poisson values, and Skellam: their differences, which add up
                exactly over sites
    laplace     two-sided geometric values, for pure epsilon
    grids       from float sums to integers; rounding is charged
    shares      noise that sites add in shares (Theorem D)

Start with `gaussian` and `grids`. A float in the wrong step breaks privacy: the
distances proven in the docstrings are what claims pay for. The order in which
random words are drawn is fixed, since seeded runs must repeat bit by bit.
"""
