# SPDX-License-Identifier: Apache-2.0
"""`lexfed verify`: one line per claim, and an exit code that scripts can trust."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option

from lexfed.cli import talk
from lexfed.cli.options import AsJson, EvidenceFolder, PinOption, TrustFileOption
from lexfed.cli.output import print_json

if TYPE_CHECKING:
    from lexfed.audit.verify import RunVerdict


def verify(
    run: EvidenceFolder,
    policy: TrustFileOption = None,
    pin: PinOption = None,
    authorities: Annotated[
        Path | None,
        Option(metavar="FILE", help="Certificates (PEM) of time-stamp authorities."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check everything that the log of a run claims.

    The exit code is 1 if a check fails.
    """
    from lexfed.audit.verify import verify_run
    from lexfed.audit.verify.outside_evidence import read_small

    verdict = verify_run(
        run, read_small(policy), read_small(pin), authorities=authorities
    )
    if as_json:
        print_json(verdict.to_json())
    else:
        for check in verdict.checks:
            print(check)
    talk.say(_sentence(run, verdict))
    if not verdict.ok:
        raise Exit(1)


def _sentence(folder: Path, verdict: "RunVerdict") -> str:
    from lexfed.audit.verify import Status

    failed = sum(check.status is Status.FAIL for check in verdict.checks)
    held = sum(check.status is Status.OK for check in verdict.checks)
    if failed:
        return f"{folder}: NOT VERIFIED, {failed} of {failed + held} claims fail"
    return f"{folder}: verified, {held} claims hold; the notes say what is left open"
