# SPDX-License-Identifier: Apache-2.0
"""Having others vouch for a run's log while it grows: witnesses and time stamps.

An entry is durable before anybody is asked, and nothing here can hold a run up for
long: a witness that fails is left in peace until the run ends. What was not cosigned is
said in the report; it is never a reason to lose a round.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lexfed.audit.checkpoint import SignedCheckpoint
from lexfed.audit.log import AuditLog
from lexfed.audit.note import VerifierKey
from lexfed.audit.timestamp import Stamped, Unstamped, load_roots, stamp
from lexfed.audit.trust import parse_policy
from lexfed.audit.witness_client import Cosigned, Target, gather, last_seen
from lexfed.config.audit_tables import AuditTable
from lexfed.errors import ConfigError, LexfedError, Problem, RunFolderError
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain

TIMEOUT_S = 5.0
"""For one request of at most three to a witness, during a run."""


@dataclass
class Witnessing:
    """Who is asked about checkpoints.

    Attributes:
        policy: bytes of the policy file; None without witnesses.
        targets: the witnesses and where they listen.
        authority: where checkpoints are time-stamped, and the certificates its tokens
            must lead to; None without time stamps.
        failed: why a witness or the authority did not sign, by its name.
    """

    policy: bytes | None = None
    targets: tuple[Target, ...] = ()
    authority: tuple[str, Path] | None = None
    failed: dict[str, str] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    def ask(self, log: AuditLog, again: bool = False) -> None:
        """Have the checkpoint cosigned by those who have not failed yet.

        Args:
            log: the log.
            again: ask those who have failed once more.
        """
        targets = [t for t in self.targets if again or t.name not in self.failed]
        outcomes = gather(
            targets,
            log.store.checkpoint,
            log.store.tree,
            known_sizes=self._sizes,
            timeout_s=TIMEOUT_S,
        )
        signatures = []
        for name, outcome in outcomes.items():
            if isinstance(outcome, Cosigned):
                signatures.append(outcome.signature)
                self._sizes[name] = log.size
                self.failed.pop(name, None)
            else:
                self.failed[name] = outcome.reason
        if signatures:
            log.store.add_signatures(signatures)
            log.pin()

    def seen(self, origin: str, *log_keys: VerifierKey) -> int:
        """Return the largest size of a log that a witness can prove it has seen."""
        for target in self.targets:
            found = last_seen(target, origin, *log_keys, timeout_s=TIMEOUT_S)
            if isinstance(found, SignedCheckpoint):
                self._sizes[target.name] = found.checkpoint.size
        return max(self._sizes.values(), default=0)

    def stamp(self, log: AuditLog) -> None:
        """Have the checkpoint time-stamped."""
        if self.authority is None:
            return
        url, roots = self.authority
        try:
            outcome = stamp(log.folder, log.size, url, load_roots(roots))
        except LexfedError as error:  # a file was changed since the run began
            outcome = Unstamped(error.message)
        if isinstance(outcome, Stamped):
            self.failed.pop("time stamp", None)
        else:
            self.failed["time stamp"] = outcome.reason


def witnessing_of(audit: AuditTable, base: Path) -> Witnessing:
    """Return whom the configuration says to ask.

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
        return Witnessing(authority=authority)
    path = base / audit.policy
    try:
        content = read_plain(path, MOST_OF_A_DOCUMENT, links=True)
    except OSError as error:
        raise RunFolderError(
            f"cannot read `{path}`: {(error.strerror or str(error)).lower()}",
            "`audit.policy` names a file with the keys of the witnesses",
        ) from error
    policy = parse_policy(content, str(path))
    urls = {**policy.urls, **audit.witnesses}
    _check_names(set(policy.witnesses), urls, str(path))
    targets = tuple(
        Target(name, key, urls[name]) for name, key in policy.witnesses.items()
    )
    return Witnessing(content, targets, authority)


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
