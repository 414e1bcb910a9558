# SPDX-License-Identifier: Apache-2.0
"""Federated training under privacy budgets tied to legal categories.

    import lexfed

    draft = lexfed.init(frame, target="died")    # tiers and ranges, with reasons
    result = lexfed.train(frame, draft)          # or a file, or keywords
    lexfed.verify(result).ok

The names of `__all__` are the commands as functions (`lexfed.python`,
`lexfed.tagging`), imported when first used, so that `import lexfed` stays quick;
`lexfed.sklearn` has estimators.

>>> import lexfed
>>> dir(lexfed) == lexfed.__all__
True

The modules beside this file are the kernel, which every package may import. They import
each other and other libraries, never a package of lexfed. `tagging` and `sklearn` are
exceptions: they are public interface and stand above packages.
"""

from typing import TYPE_CHECKING

from lexfed.version import __version__

if TYPE_CHECKING:
    from lexfed.python.drafts import init
    from lexfed.python.evidence import verify, write_report
    from lexfed.python.own_models import check_model
    from lexfed.python.policy_evaluation import evaluate_policy
    from lexfed.python.training import check, demo, load, plan, predict, train
    from lexfed.tagging import tag

_HOMES = {
    "check": "lexfed.python.training",
    "check_model": "lexfed.python.own_models",
    "demo": "lexfed.python.training",
    "evaluate_policy": "lexfed.python.policy_evaluation",
    "init": "lexfed.python.drafts",
    "load": "lexfed.python.training",
    "plan": "lexfed.python.training",
    "predict": "lexfed.python.training",
    "tag": "lexfed.tagging",
    "train": "lexfed.python.training",
    "verify": "lexfed.python.evidence",
    "write_report": "lexfed.python.evidence",
}
"""Names that are imported when they are first used, and their modules."""

__all__ = [
    "__version__",
    "check",
    "check_model",
    "demo",
    "evaluate_policy",
    "init",
    "load",
    "plan",
    "predict",
    "tag",
    "train",
    "verify",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module `lexfed` has no attribute `{name}`")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__
