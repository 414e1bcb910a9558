# SPDX-License-Identifier: Apache-2.0
"""How many bytes sites in this process are told and say, masks and their keys included.

Every message to a site enters by `handle` and its answer leaves there, whether sums
are masked or not. What a network adds around a message is not in it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.site.data_holder import Site

_Sites = TypeVar("_Sites", Site, MaskedSite)


@dataclass
class Traffic:
    """Bytes of all messages, over all sites."""

    received: int = 0
    sent: int = 0


@contextmanager
def count_traffic() -> Iterator[Traffic]:
    """Count what passes the doors of all sites of this process during a block."""
    traffic, plain, masked = Traffic(), Site.handle, MaskedSite.handle
    # Engines open their sites themselves, so their classes are what can be watched.
    Site.handle = _watched(plain, traffic)  # type: ignore[method-assign,assignment]
    MaskedSite.handle = _watched(masked, traffic)  # type: ignore[method-assign,assignment]
    try:
        yield traffic
    finally:
        Site.handle = plain  # type: ignore[method-assign]
        MaskedSite.handle = masked  # type: ignore[method-assign]


def _watched(
    handle: Callable[[_Sites, bytes], bytes], traffic: Traffic
) -> Callable[[_Sites, bytes], bytes]:
    def door(site: _Sites, content: bytes) -> bytes:
        said = handle(site, content)
        traffic.received += len(content)
        traffic.sent += len(said)
        return said

    return door
