# SPDX-License-Identifier: Apache-2.0
"""Plans, results, profiles, ledgers and overlaps, as lines and tables for people.

Start with `runs`. The guarantee of the whole record comes first, with its unit,
relation, accountant and trust model; `profiles`, `ledgers` and `overlaps` are one
subject each. Functions return lines and print nothing.

Words may be changed, with the expected outputs of the tests. What is spent is
rounded up and never down. The JSON forms (`plain` in `ledgers` and `overlaps`, and
`export_line`) are read by programs: keep their keys.
"""
