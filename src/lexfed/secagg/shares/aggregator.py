# SPDX-License-Identifier: Apache-2.0
"""One of several aggregators: it holds shares, agrees on a list, and adds it once.

    AggregatorSession.take   a site's share
                     .held   the sites whose shares it holds, for `propose_list`
                     .sign   a list, once a round; no share is taken after it
                     .add    the shares of a list that enough aggregators signed
    open_sum                 the sum, from enough partial sums

Whoever proposes a list need not be trusted: an aggregator signs only deals it holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lexfed.arrays import Integers
from lexfed.errors import SecAggError
from lexfed.secagg.envelopes.identities import (
    Identity,
    check_enrolled,
    check_later,
    check_size,
)
from lexfed.secagg.envelopes.key_agreement import Context
from lexfed.secagg.envelopes.sealed_messages import (
    DIGEST,
    EnvelopeKind,
    OpenedMessage,
    Reader,
    open_sealed,
    seal,
)
from lexfed.secagg.shares.site import NONCE, OperatorSetting, channel

_SEAT = 2
_ENTRY = _SEAT + DIGEST

Deals = dict[str, bytes]
"""The public key that names the deal of each site, in the order of the roster."""


@dataclass(frozen=True)
class SignedList:
    """A list of sites that enough aggregators signed, its digest and its signers."""

    sites: tuple[str, ...]
    digest: bytes
    signers: frozenset[str]


@dataclass(frozen=True)
class ListedSum:
    """A sum, with the list of its contributing sites."""

    values: Integers
    listed: SignedList


class AggregatorSession:
    """One aggregator in one epoch.

    Guarantees:
        It signs one list and sends one partial sum in a round.
        It adds exactly the sites of a list that a quorum signed, itself included.
        Shares are dropped once they are added, and when the next round starts.
    """

    def __init__(self, identity: Identity, setting: OperatorSetting) -> None:
        check_enrolled(identity, setting.operators)
        self._identity = identity
        self._setting = setting
        self._seat = setting.operators.point(identity.name) - 1
        self._channel = X25519PrivateKey.generate()
        self._context = setting.context()
        self._shares: dict[str, tuple[bytes, bytes]] = {}
        self._takes = False
        self._signed: bytes | None = None

    def announce(self) -> bytes:
        """Return the signed key to which sites encrypt in this epoch."""
        key, context = self._channel.public_key(), self._setting.context()
        payload = key.public_bytes_raw()
        return seal(EnvelopeKind.OPERATOR_KEY, context, self._identity, payload)

    def start(self, round_number: int, model: bytes) -> None:
        """Start a round; the remains of an earlier one are dropped."""
        check_later(round_number, self._context.round)
        self._context = self._setting.context(round_number, model)
        self._shares = {}
        self._takes, self._signed = True, None

    def take(self, message: bytes) -> str:
        """Take a site's share of the round, once, and return the site's name."""
        self._expect(self._takes, "no share is taken now")
        setting = self._setting
        lengths = [setting.sealed_bytes(at) for at in range(len(setting.operators))]
        opened = open_sealed(
            message, EnvelopeKind.DEALT, self._context, setting.sites, lengths
        )
        site, me = opened.sender, self._identity.name
        if site in self._shares:
            raise SecAggError(f"site `{site}` has dealt already")
        reader = Reader(opened.payload, f"share of `{site}`")
        deal, seat = reader.digest(), reader.number(1)
        if seat != self._seat or len(opened.payload) != setting.sealed_bytes(seat):
            raise SecAggError(f"a share of `{site}` is for another aggregator")
        cipher = channel(self._channel, deal, self._context, site, me)
        try:
            share = cipher.decrypt(NONCE, opened.payload[DIGEST + 1 :], None)
        except InvalidTag as error:
            raise SecAggError(f"a share of `{site}` cannot be decrypted") from error
        setting.terms.scheme.check(share)
        self._shares[site] = deal, share
        return site

    def held(self) -> bytes:
        """Return a signed list of the deals whose shares are held here."""
        deals = {site: deal for site, (deal, _) in self._shares.items()}
        listed = _pack_deals(self._setting, deals)
        return seal(EnvelopeKind.HELD, self._context, self._identity, listed)

    def sign(self, listed: bytes) -> bytes:
        """Sign a list of deals that are held here, after which no share is taken."""
        self._expect(self._takes, "a list was signed already, or no round is open")
        deals = _read_deals(self._setting, listed)
        check_size(len(deals), self._setting.terms.least_sites, "a list")
        for site, deal in deals.items():
            if site not in self._shares or self._shares[site][0] != deal:
                raise SecAggError(f"no share of that deal of `{site}` is held here")
        self._takes, self._signed = False, bytes(listed)
        return seal(EnvelopeKind.LISTED, self._context, self._identity, listed)

    def add(self, signed: Sequence[bytes]) -> bytes:
        """Return the signed sum of the shares of the list that was signed here."""
        listed, shares = self._agreed_shares(signed)
        total = self._setting.terms.scheme.add(self._seat, shares, self._context.digest)
        payload = listed.digest + total
        return seal(EnvelopeKind.PARTIAL_SUM, self._context, self._identity, payload)

    def _agreed_shares(self, signed: Sequence[bytes]) -> tuple[SignedList, list[bytes]]:
        """Give out the shares of a list that a quorum signed, and drop all shares."""
        self._expect(self._signed is not None, "no signed list waits to be added")
        listed = _agreed(self._setting, self._context, signed)
        if listed.digest != _digest(self._context, self._signed or b""):
            raise SecAggError("another list was signed here: lists of sites differ")
        shares = [self._shares[site][1] for site in listed.sites]
        self._shares, self._signed = {}, None
        return listed, shares

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise SecAggError(f"this comes too late or too early: {otherwise}")


def propose_list(
    setting: OperatorSetting, round_number: int, model: bytes, held: Iterable[bytes]
) -> bytes:
    """Return the list of all deals that each of some aggregators holds."""
    context = setting.context(round_number, model)
    common: set[tuple[str, bytes]] | None = None
    for message in held:
        opened = _open_list(setting, context, EnvelopeKind.HELD, message)
        deals = set(_read_deals(setting, opened.payload).items())
        common = deals if common is None else common & deals
    return _pack_deals(setting, dict(common or ()))


def open_sum(
    setting: OperatorSetting,
    round_number: int,
    model: bytes,
    signed: Sequence[bytes],
    sums: Iterable[bytes],
) -> ListedSum:
    """Return the sum over a list, from the aggregators' partial sums.

    Guarantees:
        Every partial sum is of the list that a quorum signed; the result is exact.
        Refused if aggregators signed or added different lists of sites, one sent two
        sums, there are too few, or the sum left its bound.
    """
    context = setting.context(round_number, model)
    listed = _agreed(setting, context, signed)
    scheme = setting.terms.scheme
    parts: dict[int, memoryview] = {}
    kind, lengths = EnvelopeKind.PARTIAL_SUM, (DIGEST + scheme.sum_bytes,)
    for message in sums:
        opened = open_sealed(message, kind, context, setting.operators, lengths)
        if opened.payload[:DIGEST] != listed.digest:
            raise SecAggError(f"`{opened.sender}` added a different list of sites")
        seat = setting.operators.point(opened.sender) - 1
        if seat in parts:
            raise SecAggError(f"aggregator `{opened.sender}` sent two sums")
        parts[seat] = opened.payload[DIGEST:]
    if len(parts) < scheme.needed:
        raise SecAggError(
            f"{len(parts)} partial sums of {scheme.needed} that are needed"
        )
    return ListedSum(scheme.open(parts, setting.terms.bound), listed)


def _agreed(
    setting: OperatorSetting, context: Context, signed: Sequence[bytes]
) -> SignedList:
    lists: dict[str, bytes] = {}
    for message in signed:
        opened = _open_list(setting, context, EnvelopeKind.LISTED, message)
        lists[opened.sender] = bytes(opened.payload)
    if len(set(lists.values())) > 1:
        raise SecAggError(
            "aggregators signed different lists of sites",
            "leave this round out; ask those who signed which list they were shown",
        )
    if len(lists) < setting.terms.quorum:
        raise SecAggError(
            f"{len(lists)} aggregators signed the list, "
            f"{setting.terms.quorum} must agree on it"
        )
    agreed = next(iter(lists.values()))
    sites = tuple(_read_deals(setting, agreed))
    check_size(len(sites), setting.terms.least_sites, "a list")
    return SignedList(sites, _digest(context, agreed), frozenset(lists))


def _open_list(
    setting: OperatorSetting, context: Context, kind: EnvelopeKind, message: bytes
) -> OpenedMessage:
    lengths = _list_lengths(setting)
    return open_sealed(message, kind, context, setting.operators, lengths)


def _digest(context: Context, listed: bytes) -> bytes:
    return sha256(b"lexfed operators list\x00" + context.digest + listed).digest()


def _list_lengths(setting: OperatorSetting) -> range:
    return range(0, _ENTRY * len(setting.sites) + 1, _ENTRY)


def _pack_deals(setting: OperatorSetting, deals: Deals) -> bytes:
    rows = [(setting.sites.point(site) - 1, deal) for site, deal in deals.items()]
    return b"".join(seat.to_bytes(_SEAT, "big") + deal for seat, deal in sorted(rows))


def _read_deals(setting: OperatorSetting, listed: bytes | memoryview) -> Deals:
    if len(listed) not in _list_lengths(setting):
        raise SecAggError(f"a list of {len(listed)} bytes is not expected")
    reader = Reader(listed, "list of sites")
    deals: Deals = {}
    last = -1
    for _ in range(len(listed) // _ENTRY):
        seat = reader.number(_SEAT)
        if not last < seat < len(setting.sites):
            raise SecAggError("a list names a site twice, out of order, or a stranger")
        deals[setting.sites.names[seat]] = reader.digest()
        last = seat
    return deals
