# SPDX-License-Identifier: Apache-2.0
"""Two processes that speak over FLARE's own sockets, one of which answers too much.

python oversized.py server PORT limited|free SIZE...    prints a line for each size
python oversized.py site ADDRESS                        started by the server
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from nvflare.fuel.f3.cellnet.cell import Cell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.message import Message

from lexfed.federation.flare.hardening.limits import intake, limit_intake

MOST = 4_000_000
_TRIES = 200


def site(address: str) -> None:
    """Answer every number with so many bytes."""
    cell = Cell("site", address, False, {})
    cell.register_request_cb(
        channel="aux",
        topic="ask",
        cb=lambda said: Message({}, bytes(int(said.payload))),
    )
    cell.start()
    sys.stdin.read()


def server(port: str, limited: bool, sizes: list[str]) -> None:
    """Ask for answers of some sizes where 4 MB are expected."""
    if limited:
        limit_intake()
    address = f"tcp://localhost:{port}"
    cell = Cell("server", address, False, {})
    cell.start()
    command = [sys.executable, __file__, "site", address]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as other:
        for _ in range(_TRIES):
            if _ask(cell, "1", 2.0) == 1:
                break
            time.sleep(0.2)
        before = _peak()
        for size in sizes:
            intake.expect(MOST)
            came = _ask(cell, size, 60.0)
            sys.stdout.write(f"{size} {came} {_peak() - before}\n")
            sys.stdout.flush()
        other.kill()


def _ask(cell: Cell, size: str, timeout: float) -> int:
    """Return how many bytes came; -1 if no answer did."""
    reply = cell.send_request(
        channel="aux",
        topic="ask",
        target="site",
        request=Message({}, size),
        timeout=timeout,
        optional=True,
    )
    code = reply.get_header(MessageHeaderKey.RETURN_CODE)
    return len(reply.payload) if code in (None, ReturnCode.OK) else -1


def _peak() -> int:
    """Return the most memory that this process had, in MiB.

    `getrusage` would count what the process had that started it.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


if __name__ == "__main__":
    if sys.argv[1] == "site":
        site(sys.argv[2])
    else:
        server(sys.argv[2], sys.argv[3] == "limited", sys.argv[4:])
    os._exit(0)  # FLARE's threads would keep it
