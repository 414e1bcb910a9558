# SPDX-License-Identifier: Apache-2.0
"""`lexfed site` and `lexfed coordinator`: the steps of one organisation with its kit.

Whoever starts a site or the coordinator becomes a process of FLARE. Nothing starts
before the kit is checked, and a site takes part only in a run that it agreed to, at a
price it was told.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.commands.deploy import show_roster, stated_price, warn_of_expiry
from lexfed.cli.groups import command_group
from lexfed.cli.options import (
    KitFolder,
    ProfileEpsilonOption,
    ProfileFlag,
)
from lexfed.counted_words import counted
from lexfed.errors import ConfigError, Problem, RunFolderError

if TYPE_CHECKING:
    from lexfed.federation.flare.kit.folder import Kit


coordinator = command_group("Run the coordinator of a deployment.")
site = command_group("Take part in a deployment as a site.")


@site.command()
def enrol(kit: KitFolder) -> None:
    """Make this site's key, and its enrolment for the roster."""
    from lexfed.federation.flare.kit import enrolment

    here = _site(kit)
    made = enrolment.enrol(here)
    print(made.key.hex())
    talk.say(
        f"the key of `{here.name}` is in {here.identity_key}; it never leaves this "
        "machine\n"
        f"next: send {here.enrolment} to the coordinator, which sends back roster.json"
    )


@site.command()
def roster(
    kit: KitFolder,
    roster: Annotated[
        Path, Argument(metavar="ROSTER", help="`roster.json` as you were given it.")
    ],
) -> None:
    """Install the roster, and print its fingerprint to compare."""
    from lexfed.federation.flare.kit.enrolment import install_roster

    here = _site(kit)
    show_roster(install_roster(here, roster))
    talk.say(
        "your own key is among them; call another site, not the coordinator, and\n"
        "compare the last line: if it is the same, so are all keys"
    )


@site.command()
def consent(
    kit: KitFolder,
    config: Annotated[
        Path, Argument(metavar="CONFIG", help="Configuration of the run.")
    ],
    profile: ProfileFlag = False,
    epsilon: ProfileEpsilonOption = None,
    agreed: Annotated[
        bool, Option("--yes", help="Agree; else only say what it costs.")
    ] = False,
) -> None:
    """Show what a run would cost this site, and agree to it."""
    from lexfed.run.deployed.site.consent import cost_in_words
    from lexfed.run.deployed.site.consent import give_consent as agree

    here = _site(kit)
    price = stated_price(config, profile, epsilon)
    for line in cost_in_words(here, config, price):
        print(line)
    if not agreed:
        asked = f"{kit} {config}"
        if price is not None:
            asked += f" --profile --epsilon {price!r}"
        talk.say(f"nothing was agreed to; `lexfed site consent {asked} --yes`")
        return
    agree(here, config, price)
    what = "run" if price is None else f"profile at epsilon {price:g}"
    talk.say(f"`{here.name}` agrees to one {what} of this configuration")


@site.command()
def start(
    kit: KitFolder,
    data: Annotated[
        Path, Option(metavar="FILE|sql:TABLE", help="This site's own table.")
    ],
) -> None:
    """Take part until stopped; the data stay here."""
    from lexfed.data.reading.table_sources import files_of
    from lexfed.data.reading.typed_cells.database_address import (
        is_database_source,
        looks_like_url,
    )

    here = _site(kit)
    in_database = is_database_source(str(data))
    if in_database or looks_like_url(str(data)):
        _require_table(str(data))
    elif not any(file.is_file() for file in files_of(data)):
        hint = "name this site's file, or `sql:TABLE` for a table of a database"
        raise ConfigError([Problem("--data", f"`{data}` is not a file", hint)])
    words = (
        f"site `{here.name}` of project `{here.project}`; coordinator at {here.address}"
    )
    _become(replace(here, data=data if in_database else data.resolve()), words)


@coordinator.command("start")
def start_coordinator(kit: KitFolder) -> None:
    """Run the coordinator until stopped."""
    from lexfed.federation.flare.kit.folder import Kit

    here = Kit.read(kit)
    if here.role != "coordinator":
        raise RunFolderError(
            f"`{kit}` is the kit of site `{here.name}`",
            f"`lexfed site start {kit} --data FILE`",
        )
    words = (
        f"coordinator of project `{here.project}` at {here.address}, for "
        f"{counted(len(here.sites), 'site')}: {', '.join(here.sites)}"
    )
    _become(here, words)


def _require_table(source: str) -> None:
    """Refuse a table of a database that cannot be reached from everywhere."""
    from lexfed.data.reading.typed_cells.database_address import (
        DEFAULT_DATABASE,
        DatabaseAddress,
        WrongAddress,
        require_table_name,
    )

    try:
        require_table_name(source)
        address = DatabaseAddress.of(DEFAULT_DATABASE, Path())
        if address.path is not None and not address.path.is_absolute():
            what = "the path of the SQLite file is relative"
            raise WrongAddress(what, "write it in full, `sqlite:////home/...`")
    except WrongAddress as error:
        raise ConfigError([Problem("--data", str(error), error.hint)]) from None


def _become(kit: "Kit", words: str) -> None:
    """Check a kit, say what it starts, and become its process of FLARE."""
    from lexfed.federation.flare.connections import last_connections
    from lexfed.federation.flare.process import start, take
    from lexfed.federation.flare.startup_check import check_kit

    check_kit(kit)
    lock = take(kit)
    warn_of_expiry(kit)
    talk.say(
        f"{words}\n"
        f"logs are in {kit.flare_folder / 'log.txt'}, those of a job in "
        f"{kit.flare_folder / 'JOB' / 'log.txt'}; stop with Ctrl-C"
    )
    for name, each in sorted(last_connections(kit).items()):
        talk.say(f"last time `{name}` was {each}")
    start(kit, lock)


def _site(folder: Path) -> "Kit":
    from lexfed.federation.flare.kit.folder import Kit

    kit = Kit.read(folder)
    if kit.role != "site":
        raise RunFolderError(
            f"`{folder}` is the kit of the coordinator",
            "name the kit of a site; the coordinator is enrolled by `lexfed deploy "
            "roster` and starts with `lexfed coordinator start`",
        )
    return kit
