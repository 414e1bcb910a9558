# SPDX-License-Identifier: Apache-2.0
"""What the network is made from, as digests.

`network.json` holds them. A test compares them with the files as they are now, so a
network that no longer belongs to its sources is found out. The code that reads
columns is not among them: a change that matters shows in the probes, columns whose
answers were written down when the network was made.
"""

import hashlib
from pathlib import Path

from lexfed.law.explanations import fingerprint

ROOT = Path(__file__).parents[2]
PROBES = Path(__file__).parent / "probes.json"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def inputs() -> dict[str, str]:
    """Return the digests of everything the network is made from."""
    code = sorted(Path(__file__).parent.glob("*.py"))
    code.append(ROOT / "scripts" / "train-tagger")
    lines = "".join(f"{path.name} {digest(path)}\n" for path in code)
    found = fingerprint()
    return {
        "training": hashlib.sha256(lines.encode()).hexdigest(),
        "lexicon": found["lexicon"],
        "packs": found["packs"],
        "concepts": digest(ROOT / "src/lexfed/law/tagger/concepts.tsv"),
        "teacher_weights": WEIGHTS_SHA256,
        "teacher_vocabulary": VOCABULARY_SHA256,
    }


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
