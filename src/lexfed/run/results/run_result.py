# SPDX-License-Identifier: Apache-2.0
"""The result of a run: the model, its claim and its metrics, written and read back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lexfed.counted_words import counted
from lexfed.errors import RunFolderError
from lexfed.federation.coordinator.progress import Progress
from lexfed.notebook_html import html_table
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.privacy.claim.proof import dump_claim, load_claim
from lexfed.privacy.claim.schema import Claim
from lexfed.run.audit_log.logbook import Logbook
from lexfed.run.folder import RunFolder
from lexfed.run.pricing.priced_run import PricedRun, claims_json, plan_json
from lexfed.run.results.effects import learned_effects
from lexfed.run.results.held_out import held_out_groups
from lexfed.run.results.metrics import evaluate, gains, paid_metrics
from lexfed.run.results.notes import adaptation_notes, notes_of, sketch_notes
from lexfed.run.results.outlook import result_outlook


@dataclass(frozen=True, repr=False)
class RunResult:
    """The end of a run and its outputs.

    Attributes:
        lost: rounds that were paid for and lost in a crash, or to a refusing site.
        stopped: the reason why it ended before its last round; empty if it did not.
        gains: the deciding metric with the towers up to each tier.
        adapted: rounds and noise of each tower, where something adapts.
        sketched: findings about persons, columns and sites in tables of counts.
        outlook: the cap that binds, and the signal of each tower by its released
            rounds, as `to_json` prints them.
        verdict: the sentence that noise decided the result; empty if it did not.
        held_out: test rows in groups of like score, paid for as the metrics are.
        effects: of columns on the logits, where the model has shape functions.
    """

    folder: Path
    rounds: int
    lost: int
    stopped: str
    claim: Claim | None
    metrics: Mapping[str, float]
    gains: Mapping[str, float]
    notes: tuple[str, ...]
    plan: Mapping[str, Any]
    adapted: tuple[str, ...] = ()
    sketched: tuple[str, ...] = ()
    outlook: Mapping[str, Any] = field(default_factory=dict)
    verdict: str = ""
    held_out: Mapping[str, Any] = field(default_factory=dict)
    effects: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        guarantee = "NOT PRIVATE" if self.claim is None else repr(self.claim)
        values = ", ".join(f"{name} {value:.3f}" for name, value in self._shown)
        return f"<RunResult: {values or 'no metrics'}; {guarantee}; {self.folder}>"

    def _repr_html_(self) -> str:
        """Return the result as a notebook shows it: metrics, then the guarantee."""
        rows = [(name, f"{value:.3f}") for name, value in self._shown]
        notes = [text for text in (self.verdict, self.stopped) if text]
        notes += [*self.notes, f"{counted(self.rounds, 'round')}, in {self.folder}"]
        shown = html_table("Result", ["metric", "value"], rows, notes)
        if self.claim is None:
            return html_table("NOT PRIVATE: no noise was added.", [], []) + shown
        return f"{shown}\n{self.claim._repr_html_()}"

    @property
    def _shown(self) -> list[tuple[str, float]]:
        gains = self.gains if len(self.gains) > 1 else {}
        steps = [(f"with columns up to {tier}", value) for tier, value in gains.items()]
        return [*self.metrics.items(), *steps]

    def to_json(self) -> dict[str, Any]:
        """Return the result under its fixed names."""
        return {
            **self.plan,
            "claims": None if self.claim is None else claims_json(self.claim),
            "stamp": "NOT PRIVATE" if self.claim is None or self.claim.stamp else None,
            "not_covered": [] if self.claim is None else list(self.claim.not_covered),
            "metrics": dict(self.metrics),
            "gains": dict(self.gains),
            "held_out": dict(self.held_out),
            "effects": dict(self.effects),
            "rounds": self.rounds,
            "lost": self.lost,
            "stopped": self.stopped,
            "notes": list(self.notes),
            "adapted": list(self.adapted),
            "sketched": list(self.sketched),
            **self.outlook,
            "verdict": self.verdict,
            "folder": str(self.folder),
        }


def finish(
    priced: PricedRun,
    folder: RunFolder,
    logbook: Logbook,
    progress: Progress,
    released: int,
    stopped: str,
) -> RunResult:
    """Write model, claim and result, all of which follow from the released state."""
    from lexfed.models import towers

    claim = priced.claim(progress.done)
    paid = paid_metrics(priced, progress.memory)
    outlook = result_outlook(priced, folder, progress)
    result = RunResult(
        folder=folder.path,
        rounds=released,
        lost=progress.done - released,
        stopped=stopped,
        claim=claim,
        metrics=evaluate(priced, progress.model) if paid is None else paid,
        gains=gains(priced, progress.model) if paid is None else {},
        notes=notes_of(priced),
        plan=plan_json(priced),
        adapted=adaptation_notes(priced, folder.events.rows, progress),
        sketched=sketch_notes(priced, progress),
        outlook=outlook.to_json(),
        verdict=outlook.verdict,
        held_out=held_out_groups(priced, progress.model, progress.memory),
        effects=learned_effects(priced, progress),
    )
    written = None if claim is None else dump_claim(claim)
    model = towers.to_bytes(progress.model, {"claim": written})
    folder.write_bytes("model.safetensors", model)
    if written is not None:
        folder.write_json("claim.json", written)
    folder.write_json("result.json", result.to_json())
    logbook.completed(
        progress.done,
        released,
        priced.programme.rounds,
        None if written is None else folder.path / "claim.json",
        folder.path / "model.safetensors",
    )
    folder.events.append({"type": "end", "rounds": progress.done, "stopped": stopped})
    return result


def read_result(folder: Path) -> RunResult:
    """Return the result of a finished run; missing or damaged files are refused."""
    try:
        plain = json.loads(read_plain(folder / "result.json", MOST_OF_A_DOCUMENT))
        claim = None
        if plain["claims"] is not None:
            claim = load_claim(read_plain(folder / "claim.json", MOST_OF_A_DOCUMENT))
        return RunResult(
            folder=folder,
            rounds=plain["rounds"],
            lost=plain["lost"],
            stopped=plain["stopped"],
            claim=claim,
            metrics=plain["metrics"],
            gains=plain["gains"],
            notes=tuple(plain["notes"]),
            plan={name: plain[name] for name in ("mechanism", "neighbours", "groups")},
            adapted=tuple(plain["adapted"]),
            sketched=tuple(plain.get("sketched", ())),
            outlook={n: plain[n] for n in ("cap", "signals") if n in plain},
            verdict=str(plain.get("verdict", "")),
            held_out=plain.get("held_out", {}),
            effects=plain.get("effects", {}),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunFolderError(f"`{folder}` holds no readable result") from error
