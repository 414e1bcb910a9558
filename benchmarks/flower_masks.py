# SPDX-License-Identifier: Apache-2.0
"""Flower's own masking (SecAgg+) on the same number of sites and values, as a peer.

Flower is a peer, never a dependency: `flower` installs a pinned version into a
virtual environment that is thrown away, and runs this file there. There it answers one
line of numbers after another with the CPU seconds of one client and of the server, so
that its work can be measured in turns with other work.

The order of calls is that of Flower's client and server, without messages and training.
A client does all of it in every round, keys and shares included. What comes to it from
others is made beforehand and not counted. Of the server's work everything that is done
for each site or for each pair is measured on a few of them and multiplied; the sum of
these parts is an estimate and is called so. A whole round takes minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

VERSION = "1.41.0"
CLIP, LEVELS, MODULUS = 8.0, 2**22, 2**32
"""Flower's own choices: clipping range, quantisation range, modulus."""
FEW = 3
"""How many of the server's repeated parts are measured."""


class FlowerMasks:
    """Flower in its own process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def measure(self, sites: int, shares: int, dropped: int, values: int) -> Any:
        """Return seconds and bytes of one round.

        Args:
            sites: clients that take part; all mask with all.
            shares: how many shares open a secret.
            dropped: clients that are lost before they send their vector.
            values: length of the vector.
        """
        assert self._process.stdin
        assert self._process.stdout
        asked = f"{sites} {shares} {dropped} {values}\n"
        self._process.stdin.write(asked)
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def flower() -> Iterator[FlowerMasks]:
    """Install Flower, start it, and throw it away at the end.

    Raises:
        subprocess.CalledProcessError: if it cannot be installed or started here.
    """
    off = {
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "OMP_NUM_THREADS": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "-q", f"flwr=={VERSION}"]
        subprocess.run(install, check=True, capture_output=True, text=True)
        with subprocess.Popen(
            [python, __file__],
            env=os.environ | off,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            if process.stdout.readline().strip() != VERSION:
                raise subprocess.CalledProcessError(1, __file__, stderr="cannot start")
            yield FlowerMasks(process)


def _seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def _answer(sites: int, shares: int, dropped: int, values: int) -> dict[str, float]:
    """Measure a client and the parts of the server; runs where Flower is installed."""
    import numpy as np
    from flwr.common import bytes_to_ndarray, ndarray_to_bytes
    from flwr.common.secure_aggregation.crypto.shamir import (
        combine_shares,
        create_shares,
    )
    from flwr.common.secure_aggregation.crypto.symmetric_encryption import (
        decrypt,
        encrypt,
        generate_shared_key,
    )
    from flwr.common.secure_aggregation.ndarrays_arithmetic import (
        factor_combine,
        parameters_addition,
        parameters_mod,
        parameters_subtraction,
    )
    from flwr.common.secure_aggregation.quantization import dequantize, quantize
    from flwr.common.secure_aggregation.secaggplus_utils import (
        pseudo_rand_gen,
        share_keys_plaintext_concat,
        share_keys_plaintext_separate,
    )
    from flwr.supercore.primitives.asymmetric import (
        bytes_to_private_key,
        bytes_to_public_key,
        generate_key_pairs,
        private_key_to_bytes,
        public_key_to_bytes,
    )

    others = [generate_key_pairs() for _ in range(sites - 1)]
    publics = [public_key_to_bytes(public) for _, public in others]
    update = [np.random.default_rng(1).normal(size=values)]
    sent = 0

    def keys() -> tuple[bytes, bytes]:
        nonlocal sent
        pairs = [generate_key_pairs() for _ in range(2)]
        sent += sum(len(public_key_to_bytes(public)) for _, public in pairs)
        one, two = (private_key_to_bytes(private) for private, _ in pairs)
        return one, two

    def share(mask_key: bytes, channel: bytes) -> tuple[list[bytes], list[bytes]]:
        nonlocal sent
        seeds = create_shares(os.urandom(32), shares, sites)
        secrets = create_shares(mask_key, shares, sites)
        agreed = []
        for at, public in enumerate(publics):
            key = generate_shared_key(
                bytes_to_private_key(channel), bytes_to_public_key(public)
            )
            text = share_keys_plaintext_concat(0, at, seeds[at], secrets[at])
            sent += len(encrypt(key, text))
            agreed.append(key)
        return agreed, seeds

    def mask(mask_key: bytes, agreed: list[bytes], came: list[bytes]) -> list[bytes]:
        for key, text in zip(agreed, came, strict=True):
            share_keys_plaintext_separate(decrypt(key, text))
        vector = factor_combine(1, quantize(update, CLIP, LEVELS))
        shapes = [part.shape for part in vector]
        own = pseudo_rand_gen(os.urandom(32), MODULUS, shapes)
        vector = parameters_addition(vector, own)
        for at, public in enumerate(publics):
            key = generate_shared_key(
                bytes_to_private_key(mask_key), bytes_to_public_key(public)
            )
            pair = pseudo_rand_gen(key, MODULUS, shapes)
            combine = parameters_subtraction if at % 2 else parameters_addition
            vector = combine(vector, pair)
        vector = parameters_mod(vector, MODULUS)
        return [ndarray_to_bytes(part) for part in vector]

    first, (mask_key, channel) = _seconds(keys)
    second, (agreed, seeds) = _seconds(lambda: share(mask_key, channel))
    size = len(seeds[0])
    came = [
        encrypt(key, share_keys_plaintext_concat(at, 0, bytes(size), bytes(size)))
        for at, key in enumerate(agreed)
    ]
    third, masked = _seconds(lambda: mask(mask_key, agreed, came))
    alive = sites - dropped
    shapes = [(1,), (values,)]
    secret = create_shares(mask_key, shares, sites)[:alive]
    sent += sum(map(len, masked)) + alive * size + dropped * len(secret[0])
    total = [bytes_to_ndarray(part) for part in masked]

    def add() -> None:
        parameters_addition(total, [bytes_to_ndarray(part) for part in masked])

    def take_off_own() -> None:
        parameters_subtraction(total, pseudo_rand_gen(bytes(32), MODULUS, shapes))

    def take_off_pair() -> None:
        key = generate_shared_key(
            bytes_to_private_key(mask_key), bytes_to_public_key(publics[0])
        )
        parameters_addition(total, pseudo_rand_gen(key, MODULUS, shapes))

    def each(work: Callable[[], Any], times: int = FEW) -> float:
        return sum(_seconds(work)[0] for _ in range(times)) / times

    # Flower opens a secret with every share that came, not with as few as needed.
    opened = [
        alive * each(lambda: combine_shares(seeds[:alive]), 1),
        dropped * each(lambda: combine_shares(secret), 1),
    ]
    masks = [alive * each(take_off_own), dropped * (sites - 1) * each(take_off_pair)]
    rest = alive * each(add) + each(lambda: dequantize(total[1:], CLIP, LEVELS), 1)
    one = each(lambda: create_shares(bytes(32), shares, sites), 1)
    return {
        "client_s": first + second + third,
        "client_masks_s": third,
        "server_s_estimate": sum(opened) + sum(masks) + rest,
        "server_shares_s_estimate": sum(opened),
        "share_one_ms": 1e3 * one,
        "upload_bytes": float(sent),
    }


if __name__ == "__main__":
    print(metadata.version("flwr"), flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(*map(int, line.split()))), flush=True)
