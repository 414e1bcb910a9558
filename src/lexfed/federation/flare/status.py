# SPDX-License-Identifier: Apache-2.0
"""Which sites are connected to a coordinator that runs, as its FLARE server knows."""

import contextlib
import io
from datetime import UTC, datetime

from lexfed.federation.flare.kit import Kit
from lexfed.federation.flare.settings import ADMIN
from lexfed.federation.flare.tls13 import enforce

_SECONDS = 15.0


def sites_here(kit: Kit) -> dict[str, str] | None:
    """Return when each site was last heard of; None if the server does not answer."""
    enforce(kit)
    from nvflare.fuel.flare_api.api_spec import NoConnection
    from nvflare.fuel.flare_api.flare_api import new_secure_session

    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does
        try:
            session = new_secure_session(ADMIN, str(kit.admin_folder), timeout=_SECONDS)
        except NoConnection:
            return None
        try:
            clients = session.get_system_info().client_info
        finally:
            session.close()
    return {one.name: _heard(one.last_connect_time) for one in clients}


def _heard(seconds: float) -> str:
    return f"heard of at {datetime.fromtimestamp(seconds, UTC):%H:%M:%S} UTC"
