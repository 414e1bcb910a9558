# SPDX-License-Identifier: Apache-2.0
"""A profile of a federation: columns and sites, described by released tables.

Everything here is computed from tables that are already private, so that asking
costs nothing, and from declarations that are public.

Start with `federation_profile`, which builds a profile column by column and reads and
writes `profile.json`; `answers` has the classes that the file holds. Columns are put
together from `number_summaries` and `value_lists`, which read cells through
`cell_spread`; `site_comparisons` compares sites. Fields of the classes in `answers` and
`federation_profile` are the keys of the file: a change that an older reader would
misunderstand raises `VERSION`. How answers are computed may be improved freely.
"""
