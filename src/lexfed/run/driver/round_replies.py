# SPDX-License-Identifier: Apache-2.0
"""The replies of a round: its participants, and the receipts that prove it to others.

Every asked site must have signed that it answered this very question in this run. If
the guarantee rests on nobody knowing the participants, the log holds a commitment, and
the receipts lie in `sealed/` for an auditor under confidentiality.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lexfed.audit.entries import ChargedEvent, Participation, receipts
from lexfed.audit.storage.held_folder import make_folder
from lexfed.durable import write_atomically
from lexfed.errors import AuditError, Refused, RunFolderError, system_reason
from lexfed.federation.coordinator.rounds import RoundRequest
from lexfed.federation.engines.masked_sums import MaskedSum
from lexfed.federation.programme.messages import Query, Refusal, Reply
from lexfed.run.audit_log.logbook import secret_sampling, sha256
from lexfed.run.driver.open_run import OpenRun
from lexfed.run.folder import SEALED
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import fingerprint


@dataclass(frozen=True)
class RoundReplies:
    """The question of a round, with the sites it went to, and their replies.

    If `all_of_them`, nobody may be missing, because all are in this process.
    """

    asked: RoundRequest
    answers: Sequence[Reply | Refusal]
    all_of_them: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """Sites that were asked and did not answer, where dropouts are allowed."""
        if self.all_of_them:
            return ()
        present: set[str] = set()
        for answer in self.answers:
            summed = answer.of if isinstance(answer, Reply) else ()
            present.update(summed or (answer.site,))
        return tuple(name for name in self.asked.participants if name not in present)

    @property
    def record(self) -> bytes | None:
        """The record of the masked sum that was opened; None if none was masked."""
        sums = (each for each in self.answers if isinstance(each, MaskedSum))
        return next((each.record.to_bytes() for each in sums), None)

    def participation(self, priced: PricedRun, run: OpenRun) -> Participation:
        """Check the receipts and put them where they belong.

        A receipt that is missing, or is not its site's for this round, is `Refused`.
        """
        query, secret = self.asked.query, secret_sampling(priced)
        keys = run.logbook.keys.public
        if not keys:  # sites are simulated
            count = None if secret else len(self.asked.participants)
            return Participation(sites=count, receipts="none", digest=None)
        replies = [answer for answer in self.answers if isinstance(answer, Reply)]
        alone = {reply.site: reply for reply in replies if reply.site in reply.receipts}
        envelopes = [
            check_receipt(query, name, envelope, alone.get(name), keys)
            for name, envelope in self._receipts(replies).items()
        ]
        blob = receipts.encode(envelopes)
        if not secret:
            digest = run.logbook.log.blobs.put(blob)
            return Participation(sites=len(envelopes), receipts="open", digest=digest)
        commitment, content = receipts.seal(blob, secrets.token_bytes(receipts.SALT))
        _keep(run.folder.path / SEALED / f"round-{query.round}.json", content)
        return Participation(sites=None, receipts="sealed", digest=commitment)

    def _receipts(self, replies: Sequence[Reply]) -> dict[str, bytes]:
        """Return the signed receipt of every asked site that is not missing."""
        given: dict[str, bytes] = {}
        for reply in replies:
            given.update(reply.receipts)
        missing = self.missing
        expected = [name for name in self.asked.participants if name not in missing]
        for name in expected:
            if name not in given:
                raise Refused(f"site `{name}` did not answer", scope="receipt")
        return {name: given[name] for name in expected}


def _keep(path: Path, content: bytes) -> None:
    """Put sealed receipts on disk, for their owner only."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.parent.chmod(0o700)  # also one that was there, or restored
        make_folder(path.parent)  # it is there: this puts its name on disk
        write_atomically(path, content)
        path.chmod(0o600)
    except OSError as error:
        raise RunFolderError(
            f"cannot write `{path}`: {system_reason(error)}",
            "fix the folder's permissions, then continue with `lexfed run --resume`",
        ) from error


def check_receipt(
    query: Query,
    name: str,
    envelope: bytes,
    reply: Reply | None,
    keys: Mapping[str, bytes],
) -> bytes:
    """Return a site's receipt, if it is one for a question and for the answer to it.

    `envelope` is the signed receipt, `reply` the site's sum in the clear, None where it
    is masked. Any other receipt is `Refused`.
    """
    release, public = query.release, keys[name]
    try:
        _, receipt = receipts.check(envelope, {fingerprint(public): public})
        subject = receipts.ReceiptSubject(
            log=query.log,
            run=query.log.rsplit("/", 1)[-1],
            programme=query.programme,
            round=query.round,
            event=None if release is None else ChargedEvent.of(release),
        )
        signed = reply is not None
        receipts.expect(receipt, subject, event_signed=True, answer_signed=signed)
        if receipt.query != (None if release is None else sha256(query.to_bytes())):
            raise AuditError("receipt: the site answered another question")
        if reply is not None and receipt.answer != receipts.answer_digest(
            reply.content, reply.salt
        ):
            raise AuditError("receipt: the site signed another sum")
    except AuditError as error:
        raise Refused(f"site `{name}`: {error.message}", scope="receipt") from error
    return envelope
