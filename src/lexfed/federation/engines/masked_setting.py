# SPDX-License-Identifier: Apache-2.0
"""The agreement of sites and coordinator of a programme on masked sums.

Both sides make the setting of an epoch from the programme, the run's log and the
enrolled keys, so a coordinator cannot choose terms. Sites stand in it under the start
of their key ids: evidence of a round goes into a log that holds no site's name.

**One change is enough** (`least_change = 1`). Sums of cohorts that differ by one site
could be subtracted. Here every sum carries fresh noise of its own and is charged, so
what two sums tell together is what both were charged for; a cohort may lose one site,
and a site that was away may come back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lexfed.audit.entries.masking_record import masking_name, session_of
from lexfed.federation.programme.noise_shares import ring_of
from lexfed.federation.programme.sequence import Programme
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms
from lexfed.secagg.primitives.ring import Ring
from lexfed.signing.keys import Signer, fingerprint

EpochSettings = Callable[[int], MaskSetting]
"""Gives the setting of an epoch."""


def seat_name(public: bytes) -> str:
    """Return the name of a party in masked sums: the start of its key id."""
    return masking_name(fingerprint(public))


def seat_identity(signer: Signer) -> Identity:
    """Return a party of masked sums, with the key that signs its receipts."""
    return Identity(seat_name(signer.public), signer.private)


def epoch_settings(
    programme: Programme, log: str, sites: Mapping[str, bytes], coordinator: bytes
) -> EpochSettings:
    """Return the settings of every epoch of a run.

    Args:
        programme: with a cohort.
        log: origin of the run's audit log.
        sites: public key of every site of the programme, by its name.
        coordinator: public key of the coordinator.
    """
    cohort = programme.cohort
    if cohort is None:
        raise ValueError("expected a programme with noise in shares")
    policy = bytes.fromhex(programme.digest)
    session = session_of(log, programme.digest)
    roster = Roster({seat_name(sites[name]): sites[name] for name in programme.sites})
    server = Roster({seat_name(coordinator): coordinator})
    terms = MaskTerms(
        rounds=programme.setup_rounds,
        colluders=cohort.colluders,
        # At least 2t > n + c: two epochs cannot run beside each other either.
        least_sites=cohort.least,
        ring=Ring(ring_of(programme, cohort)),
        length=max(stage.dimension for stage in programme.stages),
        least_change=1,
    )
    return lambda epoch: MaskSetting(session, epoch, policy, roster, server, terms)


@dataclass(frozen=True)
class MaskEpochs:
    """The epochs of masks of a run, as its coordinator sets them up.

    Attributes:
        identity: of the coordinator.
        settings: what all agreed on, by epoch.
        sites: public key of every site, by its name.
        next_epoch: gives a number that no epoch of this run had, durably.
    """

    identity: Identity
    settings: EpochSettings
    sites: Mapping[str, bytes]
    next_epoch: Callable[[], int]

    @classmethod
    def of(
        cls,
        programme: Programme,
        log: str,
        sites: Mapping[str, bytes],
        coordinator: Signer,
        next_epoch: Callable[[], int],
    ) -> "MaskEpochs":
        """Return the epochs of a programme in a log, under the coordinator's key."""
        settings = epoch_settings(programme, log, sites, coordinator.public)
        return cls(seat_identity(coordinator), settings, sites, next_epoch)
