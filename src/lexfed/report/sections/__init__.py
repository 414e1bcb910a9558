# SPDX-License-Identifier: Apache-2.0
"""The parts of the report, each a table or a sentence made from the dossier.

`headline.py` is the first sentence, for readers who read no more, with the limits
of the guarantee and people's open tasks; `guarantee.py` and `spending.py` state the
claim, the spending and the noise behind it; `certificate.py`, `column_table.py` and
`processing_record.py` serve compliance; `log_entries.py` shows the log itself. The
record's epsilon and a tier's belong to different relations: they never share an
axis or a sum. Spending is rounded up, noise and other protection down.
"""
