# SPDX-License-Identifier: Apache-2.0
"""Checks of what people and organisations owe: statements, documents, deadlines.

Start with `statements`, which serves more rules than any other check: it looks
for the documents and statements that a rule lists. `principles`,
`special_categories`, `records` and `impact_assessment` follow GDPR Art. 5,
9-10, 30 and 35; `parties` and `persons` hold contracts, transfers, consent,
withdrawals and breaches; `periods` what must be kept or repeated.

Documents are known by digest and date; no check opens one. Not knowing is
never evidence: a fact that nobody stated is reported as missing.
"""
