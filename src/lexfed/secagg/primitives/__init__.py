# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of the protocols: a ring, a field, shares of secrets, keystreams.

Start with `ring`, in which all masked sums are taken. `shamir` shares the secrets
of sites over the field of `small_field`; `keystreams` turns keys into masks.

How something is computed may change as long as results do not: every function is
exact, and `keystreams` makes the same bytes on every machine, or masks would not
cancel. The bounds in the docstrings (no wrap unseen, no sum above 2^53) are the
proofs that floating point and machine words lose nothing.
"""
