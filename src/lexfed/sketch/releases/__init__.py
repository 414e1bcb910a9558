# SPDX-License-Identifier: Apache-2.0
"""Sketches with noise: sensitivity, price, and the noise itself.

    noised_sketch        sensitivity; Gaussian noise: plan, event, release
    laplace              two-sided geometric noise, with pure epsilon
    randomised_response  flipped bits of Bloom filters, with pure epsilon
    cadence              how often a sketch gets new noise
    running_sums         the sum so far, in every round, by a tree

Start with `noised_sketch`. Tables are checked, the ledger is charged, and only then is
noise drawn; a refusal draws nothing. Plans are public and fixed before anybody looks at
data. A sensitivity, a plan's event and the variance that a release states belong
together: change none of them alone.
"""
