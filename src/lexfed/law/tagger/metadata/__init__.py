# SPDX-License-Identifier: Apache-2.0
"""Evidence from names, descriptions, known standards and the rest of a table.

Start with `name_evidence.py`. `labelling_rules.py` holds the rules R1 to R23
as tables, `table_roles.py` decides what the rows of a table are about and applies that
role to each column, `packs.py` reads the standards in `../packs/`, recognises them and
uses the others as precedent.

A rule keeps its number, which explanations quote. The order of the columns in a table
must not change what is suggested.
"""
