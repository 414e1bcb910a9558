# SPDX-License-Identifier: Apache-2.0
"""The terms of a run between organisations, and the programme that follows.

Start with `bundle`, the configuration and the files it names under one digest.
`site_statements` has the rules of one site and its signed statement, `agreement` turns
configuration and statements into a priced run or profile.

The coordinator computes the programme to offer it, every site to compare it, so the
result must be the same everywhere and depend on no row.
"""
