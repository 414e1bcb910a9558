# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed audit-privacy`; declared, not done, here."""

from typing import Annotated

import typer

from lexfed.cli.options import DEFAULT, AsJson, ConfigFile


def audit_privacy(
    config: ConfigFile = DEFAULT,
    canaries: Annotated[
        int, typer.Option(min=100, help="Made-up persons for each claim.")
    ] = 5000,
    as_json: AsJson = False,
) -> None:
    """Attack every claim of a run with made-up persons. Exit code 1 if one is false."""
    from lexfed.cli.commands.evidence.audit_privacy import audit_privacy as command

    command(config, canaries, as_json)
