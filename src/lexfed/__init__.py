# SPDX-License-Identifier: Apache-2.0
"""Federated training under privacy budgets tied to legal categories.

`lexfed.plan`, `lexfed.train`, `lexfed.predict` and `lexfed.tag` are the
commands as functions (`lexfed.run.api`, `lexfed.tagging`). They are imported
when first used, so that `import lexfed` and `lexfed --help` stay quick.

The modules beside this file are the kernel, which every package may import. They import
each other and other libraries, never a package of lexfed. `tagging` is the exception:
it is public interface and stands above `config`.
"""

from typing import TYPE_CHECKING, Any

from lexfed.version import __version__

if TYPE_CHECKING:
    from lexfed.run.api import plan, predict, train
    from lexfed.tagging import tag

__all__ = ["__version__", "plan", "predict", "tag", "train"]


def __getattr__(name: str) -> Any:
    if name in ("plan", "predict", "train"):
        from lexfed.run import api

        return getattr(api, name)
    if name == "tag":
        from lexfed.tagging import tag

        return tag
    raise AttributeError(f"module `lexfed` has no attribute `{name}`")
