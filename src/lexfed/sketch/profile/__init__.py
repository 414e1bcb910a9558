# SPDX-License-Identifier: Apache-2.0
"""A profile of a federation: columns and sites, described by released tables.

Start with `federation_profile`, which builds a profile column by column and reads and
writes `profile.json`; `answers` has the classes that the file holds. Columns are put
together from `number_summaries` and `value_lists`, which read cells through
`cell_spread`; `site_comparisons` compares sites. Fields of the classes in `answers` and
`federation_profile` are the keys of the file: a change that an older reader would
misunderstand raises `VERSION`.
"""
