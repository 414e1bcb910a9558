# SPDX-License-Identifier: Apache-2.0
"""Documents about a run: report, drafts for compliance, evidence bundle, pages.

Start with `documents/run_documents.py`, which verifies a run and writes everything.
Numbers come from the verified log, never from files beside it, and carry the entry that
proves them; metrics on test rows are the one exception and are labelled.

    comparison  several runs on one page
    documents   the documents themselves: page, PDF, drafts, bundle, sheet of tags
    profile     the page of a profile
    sections    one part of the report each: guarantee, spending, certificate ...
    dossier     statements of the verified log, before they are put into words
    markup      HTML, SVG and escaping; templates are in `templates/`
    wording     plain words and rounding, for every document and the command line

Nothing here may import torch, `models`, `federation` or `run`: auditors have none.
"""
