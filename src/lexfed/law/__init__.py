# SPDX-License-Identifier: Apache-2.0
"""Legal classification of columns: tier, category, articles, and reasons.

Start with `tags.py` (`Tag`, `TaggedSchema`). `catalogue.py` reads the rules of
a jurisdiction from `catalogues/*.toml`, `articles.py` finds those that apply
to a column, `decisions.py` joins a source's tags with people's decisions,
`site_tags.py` merges the tags of several sites, and `explanations.py` puts suggestions
in sentences and keeps the origin of a decision. The `tagger` makes suggestions.

To add a law, write a catalogue; no code is needed. A person's decision always
stands, and a column without a tag is refused. Dictionaries of tags, proposals and
consultations are written to logs: their keys stay. Evidence from values never leaves
the machine that holds them.
"""
