# SPDX-License-Identifier: Apache-2.0
"""The parts of the report, each a table or a sentence made from the dossier.

`headline.py` is the first sentence, for readers who read no more;
`guarantee.py`, `spending.py` and `noise_table.py` state the claim, what was
spent and the noise behind it; `certificate.py`, `column_table.py` and
`processing_record.py` serve compliance; `caveats.py` lists what is not covered
and what people still have to do. The record's epsilon and a tier's belong to
different relations: they never share an axis or a sum. What is spent is rounded
up, what protects is rounded down.
"""
