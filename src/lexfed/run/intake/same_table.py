# SPDX-License-Identifier: Apache-2.0
"""Whether a file that is called public is the table of a run, by whatever name.

A search on public data is free because nobody's row is read. So the table of the run
itself is refused: the same file by another path or link, a copy, a packed copy, or the
same rows in another order or format. A part of the table, or a changed copy, is not
recognised: that a file is public is a statement of whoever names it.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from lexfed.config import Config
from lexfed.data.encoding import build_encoding, encode, encode_target
from lexfed.data.reading.checked_tables import read_files
from lexfed.data.reading.packed_files import DamagedArchive, unpacked
from lexfed.errors import LexfedError
from lexfed.run.intake.population import DeclaredSource, data_sources


def is_training_table(config: Config, file: Path, base: Path) -> bool:
    """Return True if a file holds the rows of a configuration, or those of a site."""
    if config.data.built_in:
        return False
    own = [path for path in data_sources(config, base) if isinstance(path, Path)]
    if any(_same_bytes(path, file) for path in own):
        return True
    wanted = _rows(config, [file], base)
    if wanted is None:
        return False
    alone = ([path] for path in own)
    return any(_rows(config, paths, base) == wanted for paths in (own, *alone))


def _same_bytes(one: Path, other: Path) -> bool:
    with suppress(OSError, DamagedArchive):
        return one.samefile(other) or _digest(one) == _digest(other)
    return False


def _digest(path: Path) -> bytes:
    total = hashlib.sha256()
    with unpacked(path) as file:
        while part := file.read(1 << 20):
            total.update(part)
    return total.digest()


def _rows(config: Config, files: list[Path], base: Path) -> bytes | None:
    """Return a digest of the rows of files, as a model reads them, in no order.

    None if they cannot be read: whoever reads them next says why.
    """
    with suppress(LexfedError):
        tagged = DeclaredSource.of(config, base).tagged
        table = read_files(files, tagged.schema, strict=False)
        inputs = encode(build_encoding(table.schema, tagged.tiers()), table)
        rows = np.column_stack([inputs, encode_target(table)])
        in_order = rows[np.lexsort(rows.T[::-1])]
        return hashlib.sha256(np.ascontiguousarray(in_order).tobytes()).digest()
    return None
