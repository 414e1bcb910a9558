# SPDX-License-Identifier: Apache-2.0
"""Rules of `[audit]` and `[report]`.

A statement that contradicts another, or that no rule could ever read, is an error: it
would look like evidence and be none.
"""

import posixpath
from collections.abc import Iterator, Mapping
from datetime import date

from lexfed.audit.vocabulary import DOCUMENTS, LATER_DOCUMENTS, category_code
from lexfed.config.tables.audit import DocumentTable, ProcessorRecordTable, RecordTable
from lexfed.config.tables.root import Config
from lexfed.config.text.findings import Finding, about
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import closest_or, shown

AUDIT: KeyPath = ("audit",)
GOVERNANCE: KeyPath = ("audit", "governance")
PARTIES: KeyPath = ("audit", "parties")
WITNESSES: KeyPath = ("audit", "witnesses")


def keys_are_apart(config: Config) -> Iterator[Finding]:
    """A run folder is handed to others; keys never are."""
    folder, keys = map(posixpath.normpath, (config.run.folder, config.audit.keys))
    if keys == folder or keys.startswith(f"{folder}/"):
        yield about(
            (*AUDIT, "keys"),
            f": expected a folder outside the run folder `{folder}`, "
            f"got: {shown(config.audit.keys)}",
            "run folders are handed to auditors; keep keys elsewhere, for example "
            'with `keys = "keys"`',
            ("run", "out"),
            ("run", "name"),
        )


def witnesses_have_keys(config: Config) -> Iterator[Finding]:
    """A signature counts only beside a statement whose key made it."""
    audit = config.audit
    if audit.witnesses and audit.policy is None:
        what = " does nothing without `audit.policy`"
        hint = (
            "name a file with the keys of the witnesses, for example "
            '`policy = "trust.policy"`'
        )
        yield about(WITNESSES, what, hint, (*AUDIT, "policy"))
    for name in audit.witnesses:
        if not name.isprintable() or any(c.isspace() or c == "+" for c in name):
            hint = "use the name that the policy file gives the witness"
            yield about((*WITNESSES, name), ": expected a name without spaces", hint)


def _documents(config: Config) -> Iterator[tuple[KeyPath, Mapping[str, DocumentTable]]]:
    yield (*AUDIT, "documents"), config.audit.documents
    for name, party in config.audit.parties.items():
        yield (*PARTIES, name, "documents"), party.documents


def documents_are_known(config: Config) -> Iterator[Finding]:
    """A document that no rule asks for would be evidence of nothing."""
    listed = "docs/reference/configuration.md lists the documents that rules ask for"
    for table, documents in _documents(config):
        for name in documents:
            path = (*table, name)
            if name in LATER_DOCUMENTS:
                what = ": such a document is about an entry of the log"
                hint = "append it with `lexfed log add` when that entry is there"
                yield about(path, what, hint)
            elif name not in DOCUMENTS:
                hint = closest_or(name, DOCUMENTS, listed)
                yield about(path, ": no such document", hint)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def dates_exist(config: Config) -> Iterator[Finding]:
    """Every date is one of the calendar, and nothing ends before it begins."""
    governance = config.audit.governance
    dates: dict[KeyPath, str | None] = {
        (*GOVERNANCE, "review_due"): governance.review_due
    }
    for artefact, deadline in governance.retention:
        dates[*GOVERNANCE, "retention", artefact] = deadline
    for table, documents in _documents(config):
        for name, document in documents.items():
            ends = (*table, name, "expires")
            dates[*table, name, "issued"] = document.issued
            dates[ends] = document.expires
            if document.expires is not None and document.expires < document.issued:
                got = shown(document.expires)
                what = f": expected a date after `issued`, got: {got}"
                yield about(ends, what, "", (*table, name))
    for path, text in dates.items():
        if text is not None and not _is_date(text):
            yield about(path, f": there is no such date, got: {shown(text)}")


def records_do_not_contradict(config: Config) -> Iterator[Finding]:
    """A group of a record is stated, or it does not apply; never both."""
    records: dict[str, RecordTable | ProcessorRecordTable] = {
        "record": config.audit.record,
        "processor_record": config.audit.processor_record,
    }
    for table, record in records.items():
        for group, reason in record.not_applicable:
            if reason is not None and getattr(record, group) is not None:
                yield about(
                    (*AUDIT, table, "not_applicable", group),
                    f" contradicts `audit.{table}.{group}`",
                    "keep one of the two",
                    (*AUDIT, table, group),
                )


def statements_are_whole(config: Config) -> Iterator[Finding]:
    """Half a statement proves nothing, and two that differ prove less."""
    governance, transforms = config.audit.governance, config.audit.governance.transforms
    hint = "add that, or remove it"
    if governance.offence_law is not None and governance.offence_data is not True:
        what, data = " does nothing without `offence_data = true`", "offence_data"
        yield about((*GOVERNANCE, "offence_law"), what, hint, (*GOVERNANCE, data))
    if transforms.zip_table is not None and transforms.zip != "zip3-above-20000":
        path = (*GOVERNANCE, "transforms")
        what = ' does nothing without `zip = "zip3-above-20000"`'
        yield about((*path, "zip_table"), what, hint, (*path, "zip"))


def categories_have_codes(config: Config) -> Iterator[Finding]:
    """Two categories with one code word could not be distinguished in the log."""
    seen: dict[str, str] = {}
    for name in config.audit.governance.special:
        path: KeyPath = (*GOVERNANCE, "special", name)
        code = category_code(name)
        if not code:
            yield about(path, ": expected letters or digits")
        elif code in seen:
            what = f" is the same category as `{seen[code]}`"
            yield about(path, what, "keep one of the two")
        seen[code] = name
    for number, name in enumerate(config.audit.record.data_categories or ()):
        if not category_code(name):
            path = (*AUDIT, "record", "data_categories", number)
            yield about(path, ": expected letters or digits")


def documents_name_keys(config: Config) -> Iterator[Finding]:
    """The log knows a site by its key; in a simulation sites have none."""
    for name, party in config.audit.parties.items():
        if party.documents and config.federation.engine == "simulation":
            yield about(
                (*PARTIES, name, "documents"),
                ': needs `engine = "inprocess"`, in which sites have keys',
                "state a document for all sites under `[audit.documents]`, or change "
                "`engine` under `[federation]`",
                ("federation", "engine"),
            )


def report_says_something(config: Config) -> Iterator[Finding]:
    """A report in no format is none."""
    if not config.report.formats:
        what = ": expected at least one format, got: `[]`"
        yield about(("report", "formats"), what, "remove it to get all of them")


RULES = (
    keys_are_apart, witnesses_have_keys, documents_are_known, dates_exist,
    records_do_not_contradict, statements_are_whole, categories_have_codes,
    documents_name_keys, report_says_something,
)  # fmt: skip
