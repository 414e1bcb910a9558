# SPDX-License-Identifier: Apache-2.0
"""The witnesses and the time-stamp authority that a configuration names."""

from collections.abc import Mapping
from pathlib import Path

from lexfed.audit.log.audit_log import WitnessPanel
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.audit.witness.client import targets_of
from lexfed.audit.witness.time_stamps import load_roots
from lexfed.config.tables.audit import AuditTable
from lexfed.errors import ConfigError, Problem, RunFolderError, system_reason
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain


def witnessing_of(audit: AuditTable, base: Path) -> WitnessPanel:
    """Return the witnesses that the configuration names.

    Raises:
        ConfigError: if an address is given for a witness that the policy does not
            know, or one that it asks for has none.
        RunFolderError, AuditError: if a file cannot be used.
    """
    authority = None
    if audit.timestamp is not None:
        authority = (audit.timestamp.url, base / audit.timestamp.roots)
        load_roots(authority[1])  # now, not after the last round
    if audit.policy is None:
        return WitnessPanel(authority=authority)
    path = base / audit.policy
    try:
        content = read_plain(path, MOST_OF_A_DOCUMENT, links=True)
    except OSError as error:
        raise RunFolderError(
            f"cannot read `{path}`: {system_reason(error)}",
            "`audit.policy` names a file with the keys of the witnesses",
        ) from error
    policy = parse_policy(content, str(path))
    urls = {**policy.urls, **audit.witnesses}
    _check_names(set(policy.witnesses), urls, str(path))
    return WitnessPanel(content, targets_of(policy, urls), authority)


def _check_names(known: set[str], urls: Mapping[str, str], path: str) -> None:
    problems = [
        Problem(f"`audit.witnesses.{name}`", f"`{path}` knows no witness of this name")
        for name in sorted(set(urls) - known)
    ]
    problems += [
        Problem(
            "`audit.witnesses`",
            f"nothing says where witness `{name}` of `{path}` listens",
            f'add `{name} = "https://..."` under `[audit.witnesses]`',
        )
        for name in sorted(known - set(urls))
    ]
    if problems:
        raise ConfigError(problems)
