# SPDX-License-Identifier: Apache-2.0
"""Masked sums of the sites of a fake run, by the real machines of `lexfed.secagg`.

Sites sign with the keys that they sign receipts with. `signed_again` makes records that
no honest round leaves behind: any content, under signatures that are right for it.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lexfed.audit.entries.masking_record import MaskingRecord, masking_name, session_of
from lexfed.canonical import canonical_bytes
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.secagg.envelopes.identities import Identity, Roster
from lexfed.secagg.mask_sessions.server_rounds import ServerSession
from lexfed.secagg.mask_sessions.server_setup import ServerSetup
from lexfed.secagg.mask_sessions.site import SiteSession
from lexfed.secagg.masks.terms import MaskSetting, MaskTerms
from lexfed.secagg.primitives.ring import Ring
from lexfed.signing.keys import Signer

EPOCH = 2
"""Rounds of one set-up."""
LENGTH = 3


def name_of(site: Signer) -> str:
    """Return what a site is called in set-ups."""
    return masking_name(site.fingerprint)


@dataclass
class MaskedRounds:
    """Rounds of secure aggregation, in epochs of two.

    Attributes:
        cohort: what is assumed of the sites.
        sites: their keys.
        server: whose key signs for the server.
        origin: of the log.
        programme: digest of what was agreed.
    """

    cohort: NoiseCohort
    sites: Sequence[Signer]
    server: Signer
    origin: str
    programme: str
    machines: dict[str, SiteSession] = field(default_factory=dict)
    running: ServerSession | None = None

    def setting(self, epoch: int) -> MaskSetting:
        """Return what sites and server agree on."""
        terms = MaskTerms(
            rounds=EPOCH,
            colluders=self.cohort.colluders,
            least_sites=max(self.cohort.least, self.cohort.colluders + 2),
            ring=Ring(32),
            length=LENGTH,
            least_change=1,
        )
        return MaskSetting(
            session_of(self.origin, self.programme),
            epoch,
            bytes.fromhex(self.programme),
            Roster({name_of(site): site.public for site in self.sites}),
            Roster({"coordinator": self.server.public}),
            terms,
        )

    def record(self, number: int, alive: Iterable[Signer], query: str) -> bytes:
        """Run a round of the log, counted from 1, and return its record."""
        epoch, place = (number - 1) // EPOCH + 1, (number - 1) % EPOCH + 1
        if place == 1 or self.running is None:
            self.running = self._set_up(self.setting(epoch))
        server, model = self.running, bytes.fromhex(query)
        here = [self.machines[name_of(site)] for site in alive]
        server.begin(place, model)
        for site in here:
            server.masked(site.mask(place, model, np.arange(LENGTH)))
        survivors = server.close_masked()
        for site in here:
            server.consented(site.consent(survivors))
        consents = server.close_consents()
        for site in here:
            server.unmasked(site.unmask(consents))
        server.reconstruct()
        assert list(server.total(100)) == [len(here) * at for at in range(LENGTH)]
        return server.record().to_bytes()

    def _set_up(self, setting: MaskSetting) -> ServerSession:
        identity = Identity("coordinator", self.server.private)
        server = ServerSetup(identity, setting)
        self.machines = {
            name_of(site): SiteSession(Identity(name_of(site), site.private), setting)
            for site in self.sites
        }
        for site in self.machines.values():
            server.advertised(site.advertise())
        keys = server.close_keys()
        for site in self.machines.values():
            server.dealt(site.deal(keys))
        for name, delivery in server.close_deals().items():
            server.ready(self.machines[name].accept(delivery))
        return ServerSession(identity, server.established())


def signed_again(
    record: bytes,
    signers: Sequence[Signer],
    under: Mapping[str, str] | None = None,
    **changes: Any,
) -> bytes:
    """Return a record that says something else, signed by these keys for what it says.

    Args:
        record: the one to begin with.
        signers: whose signatures it has; no others.
        under: another name that a key signs under, by its own name.
        **changes: other values of fields; of the terms with `terms`.
    """
    plain = json.loads(record)
    terms = {**plain["terms"], **changes.pop("terms", {})}
    plain |= {"terms": terms, "consents": {}, **changes}
    body = MaskingRecord.model_validate_json(json.dumps(plain))
    for signer in signers:
        name = (under or {}).get(name_of(signer), name_of(signer))
        signature = signer.private.sign(body.message(name))
        plain["consents"][name] = b64encode(signature).decode()
    return canonical_bytes(plain)
