# SPDX-License-Identifier: Apache-2.0
"""The participants of a round, and the evidence of it for others."""

from collections.abc import Sequence
from dataclasses import dataclass

from lexfed.audit.entries import Participation
from lexfed.federation.coordinator.rounds import RoundRequest
from lexfed.federation.engines.masked_sums import MaskedSum
from lexfed.federation.programme.messages import Refusal, Reply
from lexfed.run.audit_log.first_entries import secret_sampling
from lexfed.run.audit_log.receipts import participation
from lexfed.run.driver.open_run import OpenRun
from lexfed.run.folder import SEALED
from lexfed.run.pricing.priced_run import PricedRun


@dataclass(frozen=True)
class RoundReplies:
    """The replies of a round.

    Attributes:
        asked: the question, with the sites it went to.
        all_of_them: whether nobody may be missing, because all are in this process.
    """

    asked: RoundRequest
    answers: Sequence[Reply | Refusal]
    all_of_them: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """Sites that were asked and did not answer, where dropouts are allowed."""
        if self.all_of_them:
            return ()
        there: set[str] = set()
        for answer in self.answers:
            summed = answer.of if isinstance(answer, Reply) else ()
            there.update(summed or (answer.site,))
        return tuple(name for name in self.asked.participants if name not in there)

    @property
    def record(self) -> bytes | None:
        """The record of the masked sum that was opened; None if none was masked."""
        sums = [each for each in self.answers if isinstance(each, MaskedSum)]
        return sums[0].record.to_bytes() if sums else None

    def participation(self, priced: PricedRun, run: OpenRun) -> Participation:
        """Check the receipts and put them where they belong.

        Raises:
            Refused: if one is missing, or is not its site's for this round.
        """
        return participation(
            self.asked,
            self.answers,
            run.logbook.keys.public,
            run.logbook.log.blobs,
            run.path / SEALED if secret_sampling(priced) else None,
            self.missing,
        )
