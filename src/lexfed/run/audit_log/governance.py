# SPDX-License-Identifier: Apache-2.0
"""The statements of `[audit]` as entries for the log, with hashes of named files.

Files stay where they are. Texts of records of processing go into one blob each, which
can be erased without touching the log.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lexfed.audit.entries import (
    Document,
    Entry,
    Governance,
    Party,
    Pseudonymisation,
    PublicKeyRecord,
    RecordOfProcessing,
    SpecialBasis,
    Transforms,
)
from lexfed.audit.entries.lifecycle import (
    CONTROLLER_GROUPS,
    PROCESSOR_GROUPS,
    GroupName,
    RecordGroupState,
    names_digest,
)
from lexfed.audit.vocabulary import ARTEFACTS, category_code
from lexfed.canonical import canonical_bytes
from lexfed.config.tables.audit import (
    OTHERS,
    AuditTable,
    DocumentTable,
    GovernanceTable,
    ProcessorRecordTable,
    RecordTable,
)
from lexfed.config.text.wording import did_you_mean, dotted
from lexfed.errors import ConfigError, Problem, system_reason
from lexfed.plain_files import plain_or_link

OPENING = ("genesis", "policy", "feature-tags", "budget-plan")
"""Kinds of the entries before these, by index: documents can be about one of them."""

_UNREADABLE = "0" * 64


class GovernanceEntry(NamedTuple):
    """An entry, its idempotency key, and the blobs to be stored before it."""

    entry: Entry
    key: str
    blobs: tuple[bytes, ...] = ()


@dataclass
class _Files:
    """Digests of named files; collects everything that cannot be read."""

    base: Path
    problems: list[Problem] = field(default_factory=list)

    def digest(self, file: str, *key: str) -> str:
        try:
            path = self.base / file
            with open(path, "rb", opener=plain_or_link) as opened:
                return hashlib.file_digest(opened, "sha256").hexdigest()
        except (OSError, ValueError) as error:
            reason = system_reason(error)
            where = f"`{dotted(('audit', *key))}`"
            what = f"`{file}` cannot be read: {reason}"
            hint = "paths are relative to the folder of `lexfed.toml`"
            self.problems.append(Problem(where, what, hint))
            return _UNREADABLE

    def optional(self, file: str | None, *key: str) -> str | None:
        return None if file is None else self.digest(file, *key)

    def finish(self) -> None:
        if self.problems:
            # A site's table may stand for many sites.
            raise ConfigError(list(dict.fromkeys(self.problems)))


def governance_entries(
    audit: AuditTable, base: Path, sites: Mapping[str, str | None]
) -> list[GovernanceEntry]:
    """Return the entries that come between the plan and the first round.

    `sites` has the key id of every site by name; None where it has no key. Paths are
    relative to `base`. A `ConfigError` names every file that cannot be read and every
    unknown site.

    Guarantees:
        Where nothing is stated there is no entry.
        The same statements and files give the same entries.
    """
    files = _Files(base)
    entries: list[GovernanceEntry] = []
    if audit.governance != GovernanceTable():
        stated = _governance(audit.governance, files)
        entries.append(GovernanceEntry(stated, "governance"))
    if audit.record != RecordTable():
        entries.append(_controller_record(audit.record))
    if audit.processor_record != ProcessorRecordTable():
        entries.append(_processor_record(audit.processor_record))
    for what, table in audit.documents.items():
        entry = _document(what, table, files, None, "documents")
        entries.append(GovernanceEntry(entry, f"document/{what}"))
    for name in audit.parties:
        if name not in (*sites, OTHERS):
            place = f"`{dotted(('audit', 'parties', name))}`"
            hint = did_you_mean(name, sites, "the sites are")
            files.problems.append(Problem(place, f"there is no site `{name}`", hint))
    for name, key in sites.items():
        for what, table in audit.party(name).documents.items():
            where = (name if name in audit.parties else OTHERS, "documents")
            entry = _document(what, table, files, key, "parties", *where)
            if key is None:
                place = f"`{dotted(('audit', 'parties', *where, what))}`"
                problem = "sites have no keys that a document could name"
                hint = "state it for all sites under `[audit.documents]`"
                files.problems.append(Problem(place, problem, hint))
            else:
                entries.append(GovernanceEntry(entry, f"document/{what}/{key[:16]}"))
    files.finish()
    return entries


def party_of(
    audit: AuditTable, base: Path, name: str, key: PublicKeyRecord | None
) -> Party:
    """Return a site as entry 0 holds it: by key, with the statements about it."""
    files = _Files(base)
    stated = audit.party(name)
    party = Party(
        key=key,
        role="site",
        legal_role=stated.role,
        country=stated.country,
        contract=files.optional(stated.contract, "parties", name, "contract"),
        transfer_tool=stated.transfer_tool,
    )
    files.finish()
    return party


def _governance(table: GovernanceTable, files: _Files) -> Governance:
    place = "governance"
    transforms, pseudonyms = table.transforms, table.pseudonymisation
    same = set(Governance.model_fields) & set(GovernanceTable.model_fields)
    own = {"special", "approved_inputs", "offence_law", "retention", "transforms",
           "pseudonymisation"}  # fmt: skip
    inputs = table.approved_inputs
    return Governance(
        **{key: getattr(table, key) for key in same - own},
        special={
            category_code(name): SpecialBasis(
                exception=basis.exception,
                law=files.optional(basis.law, place, "special", name, "law"),
            )
            for name, basis in table.special.items()
        },
        approved_inputs=None if inputs is None else names_digest(inputs),
        offence_law=files.optional(table.offence_law, place, "offence_law"),
        retention={
            artefact: date
            for artefact in ARTEFACTS
            if (date := getattr(table.retention, artefact.replace("-", "_")))
        },
        transforms=Transforms(
            zip=transforms.zip,
            zip_table=files.optional(
                transforms.zip_table, place, "transforms", "zip_table"
            ),
            date=transforms.date,
            age=transforms.age,
        ),
        pseudonymisation=None
        if pseudonyms is None
        else Pseudonymisation(**pseudonyms.model_dump()),
    )


def _groups(
    table: RecordTable | ProcessorRecordTable, names: tuple[GroupName, ...]
) -> tuple[dict[GroupName, RecordGroupState], dict[str, str]]:
    groups: dict[GroupName, RecordGroupState] = {}
    texts: dict[str, str] = {}
    for name in names:
        text, reason = getattr(table, name), getattr(table.not_applicable, name)
        groups[name] = "missing"
        if text is not None:
            groups[name], texts[name] = "stated", text
        elif reason is not None:
            groups[name], texts[name] = "not-applicable", reason
    return groups, texts


def _controller_record(table: RecordTable) -> GovernanceEntry:
    groups, texts = _groups(table, CONTROLLER_GROUPS)
    if table.bias_correction is not None:
        texts["bias_correction"] = table.bias_correction
    listed = table.data_categories
    codes = None if listed is None else tuple(sorted(set(map(category_code, listed))))
    text = canonical_bytes(texts)
    entry = RecordOfProcessing(
        role="controller",
        groups=groups,
        categories=codes,
        bias_reason=table.bias_correction is not None,
        text=hashlib.sha256(text).hexdigest(),
    )
    return GovernanceEntry(entry, "record/controller", (text,))


def _processor_record(table: ProcessorRecordTable) -> GovernanceEntry:
    groups, texts = _groups(table, PROCESSOR_GROUPS)
    text = canonical_bytes(texts)
    digest = hashlib.sha256(text).hexdigest()
    entry = RecordOfProcessing(role="processor", groups=groups, text=digest)
    return GovernanceEntry(entry, "record/processor", (text,))


def _document(
    what: str, table: DocumentTable, files: _Files, site: str | None, *key: str
) -> Document:
    return Document(
        what=what,
        digest=files.digest(table.file, *key, what, "file"),
        issued=table.issued,
        expires=table.expires,
        about=None if table.about is None else OPENING.index(table.about),
        site=site,
    )
