# SPDX-License-Identifier: Apache-2.0
"""The documents themselves, each made from one dossier.

`run_documents.py` verifies, writes, and logs the report and the bundle before they are
in the folder. `report_page.py` collects the sections, `drafts.py` fills the impact
assessment and the model card, `evidence_bundle.py` packs the evidence for auditors; a
test runs the commands of its instructions as they are printed. `tag_sheet.py` is the
sheet of suggested tags for a data-protection officer.
"""
