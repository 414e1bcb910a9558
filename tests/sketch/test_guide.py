# SPDX-License-Identifier: Apache-2.0
"""The example in the document runs and does what it says."""

import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "sketches.md"


def test_the_example_runs() -> None:
    found = re.search("```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    # Two items of person 1 and one of person 2, from each of two sites, in five rows.
    check = "assert abs(both.cells).sum() == 30 and both.shape == shape"
    subprocess.run([sys.executable, "-c", found.group(1) + check], check=True)
