# SPDX-License-Identifier: Apache-2.0
"""The tables of `lexfed.toml` as frozen pydantic classes, one field per key.

Start with `root`, whose `Config` is the whole file; `field_types` has the closed
`ConfigTable` and the bounds that all tables use, `budget` and `audit` the two largest
tables. A class holds what can be said of one key alone: type, bounds, default. What
ties keys together is in `rules/`. Messages are made from the JSON schema of these
classes, so a key with a pattern needs a description that says what it expects.

Every key with its value, defaults included, enters `Config.digest`, which run
folders, agreements of sites and evaluations are bound to: adding a key or changing
a default gives the same file another digest. Classes may be renamed, fields not.
"""
