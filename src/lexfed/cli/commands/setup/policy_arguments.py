# SPDX-License-Identifier: Apache-2.0
"""The commands `lexfed policy ...`; declared, not done, here."""

from pathlib import Path
from typing import Annotated

import typer

from lexfed.cli.options import AsJson

PolicyArgument = Annotated[Path, typer.Argument(help="A policy file.", readable=False)]

policy = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show, sign and check budget policies.",
)


@policy.command()
def show(
    name: Annotated[
        str, typer.Argument(help="`default`, `published`, or a policy file.")
    ],
    as_toml: Annotated[
        bool, typer.Option("--toml", help="Print the file itself, byte for byte.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the levels of a policy."""
    from lexfed.cli.commands.setup.policy import show as command

    command(name, as_toml, as_json)


@policy.command()
def sign(
    file: PolicyArgument,
    key: Annotated[
        Path,
        typer.Option(
            metavar="KEY", help="Private key (PEM); made if it is not there yet."
        ),
    ],
) -> None:
    """Sign a policy file; the signature is FILE.sig."""
    from lexfed.cli.commands.setup.policy import sign as command

    command(file, key)


@policy.command()
def verify(
    file: PolicyArgument,
    key: Annotated[
        list[Path],
        typer.Option(
            metavar="PUBLIC", help="Public key (PEM); several: all must have signed."
        ),
    ],
) -> None:
    """Check who signed a policy file. Exit code 1 if somebody has not."""
    from lexfed.cli.commands.setup.policy import verify as command

    command(file, key)
