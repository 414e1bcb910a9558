# SPDX-License-Identifier: Apache-2.0
"""`lexfed deploy`: make kits and check them, train with sites that are elsewhere.

Nothing starts before the kit is checked.
"""

import shlex
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from lexfed.cli import talk
from lexfed.cli.commands.training.profile import show_profile
from lexfed.cli.groups import command_group
from lexfed.cli.options import (
    AsJson,
    KitFolder,
    ProfileEpsilonOption,
    ProfileFlag,
    ResumeFlag,
)
from lexfed.cli.output import print_json
from lexfed.cli.progress import end_interrupted
from lexfed.errors import ConfigError, Problem, RunFolderError

if TYPE_CHECKING:
    from lexfed.federation.flare.kit.enrolment import DeploymentRoster
    from lexfed.federation.flare.kit.folder import Kit

deploy = command_group("Make and check kits for a deployment, and train with it.")


@deploy.command()
def init(
    project: Annotated[
        Path,
        Argument(metavar="PROJECT", help="Folder to make; its name is the project's."),
    ],
    address: Annotated[
        str, Option("--coordinator", metavar="HOST:PORT", help="Where sites reach it.")
    ],
    sites: Annotated[
        list[str], Option("--site", metavar="NAME", help="Once for every site.")
    ],
) -> None:
    """Make one kit for the coordinator and one for every site."""
    from lexfed.federation.flare.kit.folder import COORDINATOR
    from lexfed.federation.flare.new_kits import provision
    from lexfed.federation.flare.startup_check import last_day

    kits = provision(project, address, sites)
    here = kits[COORDINATOR]
    print(here.pin)
    end = last_day(here)
    talk.say(
        f"made {len(kits)} kits in {project}; above is the pin of the coordinator\n"
        f"  {project / COORDINATOR}: for the coordinator at {address}\n"
        + "".join(f"  {project / name}: for `{name}`\n" for name in sites)
        + f"the certificates are valid until {end:%Y-%m-%d}\n"
        "next: hand each site its kit in a safe way and delete it here; each runs\n"
        "`lexfed site enrol KIT` and sends back `enrolment.json`; then\n"
        f"`lexfed deploy roster {project / COORDINATOR} ENROLMENT...`"
    )


@deploy.command()
def roster(
    kit: KitFolder,
    enrolments: Annotated[
        list[Path],
        Argument(metavar="ENROLMENT...", help="`enrolment.json` of every site."),
    ],
) -> None:
    """Write the roster of all enrolments; print its fingerprint."""
    from lexfed.federation.flare.kit.enrolment import write_roster
    from lexfed.federation.flare.kit.folder import Kit

    here = Kit.read(kit)
    show_roster(write_roster(here, enrolments))
    talk.say(
        f"wrote {here.roster}: send it to every site, which runs\n"
        "`lexfed site roster KIT roster.json`; then compare the fingerprint of the\n"
        "roster (above, last line) with every site by telephone"
    )


@deploy.command()
def check(kit: KitFolder) -> None:
    """List every problem of a kit; starts nothing."""
    from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
    from lexfed.federation.flare.startup_check import check_kit

    here = Kit.read(kit)
    check_kit(here)
    start = f"site start {here.folder} --data FILE"
    if here.role == COORDINATOR:
        start = f"coordinator start {here.folder}"
    talk.say(f"{kit}: no problems; `lexfed {start}` starts it")


@deploy.command()
def run(
    config: Annotated[Path, Argument(metavar="CONFIG", help="Configuration.")],
    kit: Annotated[
        Path, Option("--kit", metavar="KIT", help="Kit of the coordinator.")
    ],
    resume: ResumeFlag = False,
    profile: ProfileFlag = False,
    epsilon: ProfileEpsilonOption = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, or buy a profile, with sites that agreed to it."""
    from lexfed.cli import display
    from lexfed.cli.inputs import load_config, located_errors
    from lexfed.federation.flare.kit.folder import Kit
    from lexfed.federation.flare.startup_check import check_kit
    from lexfed.run.deployed.coordinator.job_submission import deploy_run

    price = stated_price(config, profile, epsilon)
    if price is not None:
        _profile(config, kit, price, resume, as_json)
        return
    here = Kit.read(kit)
    found = load_config(config)
    check_kit(here)
    try:
        with located_errors(config):
            result = deploy_run(config, here, resuming=resume, say=talk.say)
    except KeyboardInterrupt:
        end_interrupted(
            f"continue with `lexfed deploy run {config} --kit {kit} --resume`"
        )
    for line in display.closing(found, result):
        talk.say(line)
    if as_json:
        print_json(result.to_json())


@deploy.command()
def status(kit: KitFolder, as_json: AsJson = False) -> None:
    """Show the state of a kit, and the sites that are connected."""
    from lexfed.federation.flare.connections import last_connections
    from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
    from lexfed.federation.flare.process import is_running
    from lexfed.federation.flare.startup_check import kit_problems, last_day

    here = Kit.read(kit)
    problems = [str(problem) for problem in kit_problems(here)]
    running = is_running(here)
    asked = here.role == COORDINATOR and running and not problems
    present = _sites_here(here) if asked else None
    connected = last_connections(here)
    end = last_day(here)
    said = {
        "project": here.project,
        "name": here.name,
        "coordinator": here.address,
        "pin": here.pin,
        "certificates_end": None if end is None else f"{end:%Y-%m-%d}",
        "running": running,
        "problems": problems,
        "sites": None if present is None else sorted(present),
        "connections": {n: asdict(each) for n, each in connected.items()},
    }
    if as_json:
        print_json(said)
        return
    print(f"project       {here.project}")
    print(f"kit           {here.name}, {'running' if running else 'not running'}")
    print(f"coordinator   {here.address}")
    print(f"pin           {grouped_fingerprint(here.pin)}")
    print(f"certificates  valid until {said['certificates_end'] or 'unknown'}")
    if present is not None:
        for name in here.sites:
            print(f"site          {name}: {'here' if name in present else 'not here'}")
    elif asked:
        print("sites         unknown: the coordinator does not answer yet")
    for name, each in sorted(connected.items()):
        print(f"connection    {name} {each}")
    for problem in problems:
        print(f"problem       {problem}")
    if problems:
        talk.say(f"`lexfed deploy check {kit}` says what to do about problems")


def _profile(
    path: Path, folder: Path, price: float, resuming: bool, as_json: bool
) -> None:
    from lexfed.cli.inputs import located_errors
    from lexfed.federation.flare.kit.folder import Kit
    from lexfed.federation.flare.startup_check import check_kit
    from lexfed.run.deployed.coordinator.epoch_driver import end_profile
    from lexfed.run.deployed.coordinator.job_submission import deploy_run
    from lexfed.run.deployed.terms.bundle import Bundle

    kit = Kit.read(folder)
    with located_errors(path):
        name = Bundle.read(path, profile=price).name
    check_kit(kit)
    try:
        with located_errors(path):
            deploy_run(path, kit, profile=price, resuming=resuming, say=talk.say)
    except KeyboardInterrupt:
        words = ["lexfed", "deploy", "run", str(path), "--kit", str(folder)]
        again = shlex.join([*words, "--profile", "--epsilon", f"{price!r}", "--resume"])
        end_interrupted(f"continue with `{again}`")
    show_profile(end_profile(kit, name), as_json)


def stated_price(path: Path, a_profile: bool, epsilon: float | None) -> float | None:
    """Return a record's price of a profile; None for training, which takes none."""
    from lexfed.config.open_decisions import load_open
    from lexfed.run.purchases.profile_purchase import default_epsilon

    if a_profile:
        config = load_open(path).config
        return default_epsilon(config) if epsilon is None else epsilon
    if epsilon is not None:
        what = "is the price of a profile; that of training is in the configuration"
        hint = "add `--profile`, or leave it out"
        raise ConfigError([Problem("`--epsilon`", what, hint)])
    return None


def grouped_fingerprint(fingerprint: str) -> str:
    """Return a fingerprint in groups of four, as people read it to each other."""
    return " ".join(fingerprint[at : at + 4] for at in range(0, 64, 4))


def show_roster(written: "DeploymentRoster") -> None:
    """Print the public keys of everybody, and the one number to compare."""
    width = max(len(name) for name in ("roster", *written.keys))
    for name, key in written.keys.items():
        print(f"{name:{width}}  {key.hex()}")
    print(f"{'roster':{width}}  {grouped_fingerprint(written.fingerprint)}")


def warn_of_expiry(kit: "Kit") -> None:
    """Say when a certificate ends soon."""
    from lexfed.federation.flare.startup_check import SOON, last_day

    end = last_day(kit)
    if end is not None and end - datetime.now(UTC) < SOON:
        talk.warn(
            f"the certificates of this deployment end on {end:%Y-%m-%d}",
            "make new kits before that day: `lexfed deploy init`, in another folder",
        )


def _sites_here(kit: "Kit") -> frozenset[str] | None:
    """Return the sites that are connected; None if the coordinator does not answer."""
    from lexfed.federation.flare.jobs.admin_session import AdminSession

    try:
        with AdminSession(kit) as admin:
            return admin.sites()
    except RunFolderError:
        return None
