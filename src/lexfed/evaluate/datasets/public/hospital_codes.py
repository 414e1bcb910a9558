# SPDX-License-Identifier: Apache-2.0
"""Codes of American hospitals in few groups: diagnoses, and departments.

Nine hundred diagnoses and seventy specialties would be inputs that hardly anybody has.
The groups of diagnoses are those of table 2 of Strack et al. 2014, the paper that
published the data.
"""

from collections.abc import Sequence

# First and last three-digit code of ICD-9-CM.
_CHAPTERS: Sequence[tuple[str, int, int]] = (
    ("circulatory", 390, 459),
    ("circulatory", 785, 785),
    ("respiratory", 460, 519),
    ("respiratory", 786, 786),
    ("digestive", 520, 579),
    ("digestive", 787, 787),
    ("diabetes", 250, 250),
    ("injury", 800, 999),
    ("musculoskeletal", 710, 739),
    ("genitourinary", 580, 629),
    ("genitourinary", 788, 788),
    ("neoplasms", 140, 239),
)

# Beginnings of the names of specialties; the first that fits decides.
_DEPARTMENTS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("women and children", ("Pediatric", "Obst", "Gynecology", "Perinatology")),
    ("surgery", ("Surg", "Orthopedics", "Urology", "Podiatry", "Otolaryngology")),
    ("cardiology", ("Cardiology",)),
    ("emergency", ("Emergency",)),
    ("family", ("Family",)),
    ("internal", ("InternalMedicine", "Hospitalist")),
    ("nephrology", ("Nephrology",)),
    ("psychiatry and neurology", ("Psych", "Neuro")),
    ("unstated", ("PhysicianNotFound",)),
)


def diagnosis_group(code: object) -> object:
    """Return the group of an ICD-9-CM code; what is no code stays as it is.

    Codes that begin with E or V are causes and circumstances: `other`.
    """
    if not isinstance(code, str):
        return code
    whole = code.split(".")[0]
    if not whole.isdigit():
        return "other"
    number = int(whole)
    fits = (name for name, first, last in _CHAPTERS if first <= number <= last)
    return next(fits, "other")


def department(specialty: str) -> str:
    """Return the department of a specialty; nothing stated is a group of its own."""
    if not specialty:
        return "unstated"
    fits = (name for name, words in _DEPARTMENTS if specialty.startswith(words))
    return next(fits, "other")
