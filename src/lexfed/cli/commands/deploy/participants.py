# SPDX-License-Identifier: Apache-2.0
"""`lexfed site` and `lexfed coordinator`: what an organisation does with its kit."""

from dataclasses import replace
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.commands.deploy.kits import say_connections, show_roster, warn_of_expiry
from lexfed.errors import ConfigError, Problem, RunFolderError
from lexfed.federation.flare.kit import enrolment as own
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.process import start as become
from lexfed.federation.flare.process import take
from lexfed.federation.flare.provision.startup_check import check_kit


def enrol(folder: Path) -> None:
    """Make the key of a site."""
    kit = _site(folder)
    made = own.enrol(kit)
    print(made.key.hex())
    talk.say(
        f"the key of `{kit.name}` is in {kit.identity_key}; it never leaves this "
        "machine\n"
        f"next: send {kit.enrolment} to the coordinator, which sends back roster.json"
    )


def roster(folder: Path, path: Path) -> None:
    """Take over the roster."""
    kit = _site(folder)
    show_roster(own.install_roster(kit, path))
    talk.say(
        "your own key is among them; call another site, not the coordinator, and\n"
        "compare the last line: if it is the same, so are all keys"
    )


def consent(
    folder: Path, config: Path, a_profile: bool, epsilon: float | None, agreed: bool
) -> None:
    """Say what a run costs, and agree to it."""
    from lexfed.cli.commands.deploy.profile import stated_price
    from lexfed.run.deployed.site.consent import cost_in_words
    from lexfed.run.deployed.site.consent import give_consent as agree

    kit = _site(folder)
    price = stated_price(config, a_profile, epsilon)
    for line in cost_in_words(kit, config, price):
        print(line)
    if not agreed:
        asked = f"{folder} {config}"
        if price is not None:
            asked += f" --profile --epsilon {price!r}"
        talk.say(f"nothing was agreed to; `lexfed site consent {asked} --yes`")
        return
    agree(kit, config, price)
    what = "run" if price is None else f"profile at epsilon {price:g}"
    talk.say(f"`{kit.name}` agrees to one {what} of this configuration")


def start(folder: Path, data: Path) -> None:
    """Take part as a site; this process becomes FLARE's client."""
    kit = _site(folder)
    if not data.is_file():
        problem = Problem(
            "--data", f"`{data}` is not a file", "name this site's CSV or Parquet file"
        )
        raise ConfigError([problem])
    check_kit(kit)
    lock = take(kit)
    warn_of_expiry(kit)
    talk.say(
        f"site `{kit.name}` of project `{kit.project}`; coordinator at {kit.address}\n"
        f"logs are in {kit.flare_folder / 'log.txt'}, those of a job in "
        f"{kit.flare_folder / 'JOB' / 'log.txt'}; stop with Ctrl-C"
    )
    say_connections(kit)
    become(replace(kit, data=data.resolve()), lock)


def start_coordinator(folder: Path) -> None:
    """Run the coordinator; this process becomes FLARE's server."""
    kit = Kit.read(folder)
    if kit.role != "coordinator":
        raise RunFolderError(
            f"`{folder}` is the kit of site `{kit.name}`",
            f"`lexfed site start {folder} --data FILE`",
        )
    check_kit(kit)
    lock = take(kit)
    warn_of_expiry(kit)
    talk.say(
        f"coordinator of project `{kit.project}` at {kit.address}, for "
        f"{len(kit.sites)} sites: {', '.join(kit.sites)}\n"
        f"logs are in {kit.flare_folder / 'log.txt'}, those of a job in "
        f"{kit.flare_folder / 'JOB' / 'log.txt'}; stop with Ctrl-C"
    )
    say_connections(kit)
    become(kit, lock)


def _site(folder: Path) -> Kit:
    kit = Kit.read(folder)
    if kit.role != "site":
        raise RunFolderError(
            f"`{folder}` is the kit of the coordinator",
            "name the kit of a site; the coordinator is enrolled by `lexfed deploy "
            "roster` and starts with `lexfed coordinator start`",
        )
    return kit
