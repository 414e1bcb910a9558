# SPDX-License-Identifier: Apache-2.0
"""Keys of people, written alike on both sides.

Keys are compared in NFKC (full-width letters, ligatures, composed marks), with no white
space at the ends and one space for any run of it inside, case folded. Nothing else:
`Müller` is not `Mueller`. Blank keys belong to nobody and are left out. A person with
several rows is one key, so one count.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lexfed.canonical import digest
from lexfed.data.people.unit_blocks import KEY_BITS, person_keys
from lexfed.sketch.tables.shape import ItemKeys

FORM = digest({"joining keys": 1, "form": "NFKC, spaces, case", "bits": KEY_BITS})
"""The form of a sketch's keys; sketches of other keys cannot be compared."""


def one_form(text: str) -> str:
    """Return the form in which a key is compared.

    Guarantees:
        The form of a form is the form itself.
    """
    # Folding case may leave what NFKC joins, and the other way round; twice is stable.
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", text).split())


@dataclass(frozen=True)
class PersonKeys:
    """The different keys of an organisation, sorted; `blank` of its rows have none."""

    texts: tuple[str, ...]
    rows: int
    blank: int

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def keys(self) -> ItemKeys:
        """The numbers that are hashed, one for each person."""
        numbers = person_keys(self.texts)
        return np.unique(numbers).astype(np.uint64)


def people_of(texts: Iterable[str]) -> PersonKeys:
    """Return the different people of a column of keys."""
    forms = [one_form(text) for text in texts]
    held = {form for form in forms if form}
    return PersonKeys(tuple(sorted(held)), len(forms), forms.count(""))
