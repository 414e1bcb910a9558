# SPDX-License-Identifier: Apache-2.0
"""Are these entries this log's, each signed by whom it must be, in this order?

The tree proves that no entry was changed since the checkpoint was signed. It does not
prove that an entry belongs here: a valid envelope of another run could be copied in,
or one of this run twice. So every entry names its log, run, index and predecessor.
"""

from lexfed.audit.entries import Certificate, Correction, Document, Genesis
from lexfed.audit.log.custody import raw_key
from lexfed.audit.log.evidence import Evidence
from lexfed.audit.log.logged_files import require_signed
from lexfed.audit.verify.verdict import Unsound
from lexfed.errors import AuditError


def entry_signatures(evidence: Evidence) -> str:
    """Every entry is signed by the coordinator in force; a rotation by more.

    Guarantees:
        An entry with a signature too many is as wrong as one with too few: nobody
        could say what it stands for.
    """
    for index in range(len(evidence.records)):
        try:
            require_signed(evidence, index)
        except AuditError as error:
            raise Unsound(error.message, index) from error
    rotations = len(evidence.custody.extra)
    return f"{len(evidence.records)} entries, {rotations} key rotations"


def separate_keys(evidence: Evidence) -> str:
    """The coordinator's key, the log's and every party's are different keys."""
    seen: dict[bytes, str] = {}
    named = [(key, "the coordinator's") for _, key in evidence.custody.coordinators]
    named += [(key.public, "the log's") for key in evidence.custody.log_keys]
    for number, party in enumerate(evidence.parties):
        if party.key is not None:
            where = f"`parties.{number}`"
            named.append((raw_key(party.key, f"entry 0, {where}"), where))
    for key, whose in named:
        if key in seen:
            raise Unsound(f"{whose} key and {seen[key]} key are the same", 0)
        seen[key] = whose
    return f"{len(seen)} keys, all different"


def bindings(evidence: Evidence) -> str:
    """Every entry names this log, this run, its place and the entry before it."""
    previous, keys = "", dict[str, int]()
    for index, record in enumerate(evidence.records):
        wanted = {
            "log": (record.origin, evidence.origin),
            "run": (record.run, evidence.run),
            "index": (record.index, index),
            "previous": (record.previous, previous),
        }
        for name, (found, expected) in wanted.items():
            if found != expected:
                raise Unsound(
                    f"`{name}` is `{found}`, expected: `{expected}`: it was written "
                    "for another place",
                    index,
                )
        if record.key in keys:
            raise Unsound(
                f"has the key `{record.key}` of entry {keys[record.key]}: an event "
                "is logged once",
                index,
            )
        keys[record.key] = index
        previous = record.leaf.hex()
    return f"log `{evidence.origin}`, {len(keys)} different events"


def one_genesis(evidence: Evidence) -> str:
    """Entry 0 and no other is the genesis."""
    for found in evidence.of(Genesis)[1:]:
        raise Unsound("a second genesis", found.index)
    genesis = evidence.genesis
    continued = ""
    if genesis.previous is not None:
        continued = (
            f", continues `{genesis.previous.origin}` after its first "
            f"{genesis.previous.size} entries"
        )
    return f"written by {genesis.software}{continued}"


def references(evidence: Evidence) -> str:
    """Every index that an entry cites is of an earlier entry."""
    count = 0
    for index, record in enumerate(evidence.records):
        entry = record.entry
        cited: tuple[int, ...] = ()
        if isinstance(entry, Correction):
            cited = (entry.index,)
        elif isinstance(entry, Document) and entry.about is not None:
            cited = (entry.about,)
        elif isinstance(entry, Certificate):
            if entry.first > entry.last:
                raise Unsound("is about no entries", index)
            cited = (entry.last,)
            for result in entry.results:
                outside = [n for n in result.evidence if n > entry.last]
                if outside:
                    raise Unsound(
                        f"rule `{result.rule}` cites entry {outside[0]}, which it is "
                        "not about",
                        index,
                    )
        for number in cited:
            if number >= index:
                raise Unsound(f"cites entry {number}, which is not before it", index)
        count += len(cited)
    return f"{count} entries cite earlier ones"
