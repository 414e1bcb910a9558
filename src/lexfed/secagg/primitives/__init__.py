# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of the protocols: a ring, shares of secrets, keystreams.

Start with `ring`, in which all masked sums are taken. `shamir` shares the secrets of
sites over GF(65521); `keystreams` turns keys into masks. An implementation may change
as long as its results do not: every function is exact, and `keystreams` makes the same
bytes on every machine, or masks would not cancel.
"""
