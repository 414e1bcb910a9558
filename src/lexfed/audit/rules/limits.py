# SPDX-License-Identifier: Apache-2.0
"""What no log can show, in words for every report."""

CANNOT: tuple[str, ...] = (
    "That noise of the stated scale was really drawn, or values really clipped, on the "
    "machines of the coordinator and the sites: one noisy number does not reveal its "
    "variance. Receipts signed by sites, noise from several parties, attested "
    "hardware, reproducible builds and attack tests make it likelier, not certain.",
    "That a lawful basis, an exception or an argument of necessity is right, that an "
    "epsilon is low enough for its context, or that a model is anonymous: people judge "
    "these case by case.",
    "That tags and data sheets are true, and that no run, copy or release took place "
    "outside of what writes this log.",
    "That notices were understood, consent was freely given, contracts are adequate, a "
    "data protection officer was independent, or the views of data subjects mattered.",
    "How well an organisation guards its machines, what its staff can reach, what is "
    "left in backups and at sites, and whether something was really deleted: a logged "
    "deletion is a statement.",
    "That nobody actually knows how to re-identify somebody (HIPAA), that an expert is "
    "competent, or that data are representative and free of bias.",
    "That secure aggregation holds against more colluding parties than its threshold "
    "assumes.",
    "Who a person behind a key is: a signature points to a key, and custody of the key "
    "is a matter of identity and access controls.",
)
"""Never shortened: a report without it claims more than it can."""
