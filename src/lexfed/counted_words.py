# SPDX-License-Identifier: Apache-2.0
"""Numbers with their nouns: "1 row", "2 rows", "1 entry", "0 entries"."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun in the right form.

    >>> counted(1, "entry"), counted(0, "entry"), counted(12, "row")
    ('1 entry', '0 entries', '12 rows')
    >>> counted(2, "person", "people")
    '2 people'
    """
    if number == 1:
        return f"1 {noun}"
    if not plural:
        by_y = noun.endswith("y") and noun[-2] not in "aeiou"
        by_es = noun.endswith(("s", "x", "ch"))
        plural = f"{noun[:-1]}ies" if by_y else f"{noun}{'es' if by_es else 's'}"
    return f"{number} {plural}"
