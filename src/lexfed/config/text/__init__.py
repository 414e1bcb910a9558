# SPDX-License-Identifier: Apache-2.0
"""The text of a configuration: where its keys are, and what is wrong, in plain words.

Start with `findings`: a `Finding` is a problem before it has a file and a line,
and all rules speak in findings. `wording` has the parts of sentences, `positions` the
line of every key. `repair` makes a broken configuration whole enough for the rules.

Words may be improved freely; `tests/config/expected` holds them. Every problem of
a file is reported at once and with a line, whatever the text: a text that is not
TOML raises nothing in `positions`, and nothing escapes `examination`.
"""
