# SPDX-License-Identifier: Apache-2.0
"""`lexfed deploy`: kits, the roster, and how a deployment stands."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.output import print_json
from lexfed.errors import RunFolderError
from lexfed.federation.flare.connections import last_connections
from lexfed.federation.flare.kit.enrolment import write_roster
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.flare.kit.roster import DeploymentRoster
from lexfed.federation.flare.process import is_running
from lexfed.federation.flare.provision.certificates import SOON, last_day
from lexfed.federation.flare.provision.new_kits import provision
from lexfed.federation.flare.provision.startup_check import check_kit, kit_problems


def grouped_fingerprint(fingerprint: str) -> str:
    """Return a fingerprint in groups of four, as people read it to each other."""
    return " ".join(fingerprint[at : at + 4] for at in range(0, 64, 4))


def init(project: Path, address: str, sites: list[str]) -> None:
    """Make the kits, and say who does what next."""
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


def roster(folder: Path, enrolments: list[Path]) -> None:
    """Write the roster into the coordinator's kit."""
    kit = Kit.read(folder)
    show_roster(write_roster(kit, enrolments))
    talk.say(
        f"wrote {kit.roster}: send it to every site, which runs\n"
        "`lexfed site roster KIT roster.json`; then compare the fingerprint of the\n"
        "roster (above, last line) with every site by telephone"
    )


def show_roster(written: DeploymentRoster) -> None:
    """Print the public keys of everybody, and the one number to compare."""
    width = max(len(name) for name in ("roster", *written.keys))
    for name, key in written.keys.items():
        print(f"{name:{width}}  {key.hex()}")
    print(f"{'roster':{width}}  {grouped_fingerprint(written.fingerprint)}")


def check(folder: Path) -> None:
    """List what keeps a kit from starting."""
    kit = Kit.read(folder)
    check_kit(kit)
    talk.say(f"{folder}: no problems; {next_step(kit)}")


def next_step(kit: Kit) -> str:
    """Return the command that starts a kit."""
    if kit.role == COORDINATOR:
        return f"`lexfed coordinator start {kit.folder}` starts it"
    return f"`lexfed site start {kit.folder} --data FILE` starts it"


def warn_of_expiry(kit: Kit) -> None:
    """Say when a certificate ends soon."""
    end = last_day(kit)
    if end is not None and end - datetime.now(UTC) < SOON:
        talk.warn(
            f"the certificates of this deployment end on {end:%Y-%m-%d}",
            "make new kits before that day: `lexfed deploy init`, in another folder",
        )


def say_connections(kit: Kit) -> None:
    """Say how everybody was connected the last time."""
    for name, each in sorted(last_connections(kit).items()):
        talk.say(f"last time `{name}` was {each}")


def status(folder: Path, as_json: bool) -> None:
    """Print how a kit stands."""
    kit = Kit.read(folder)
    problems = [str(problem) for problem in kit_problems(kit)]
    running = is_running(kit)
    asked = kit.role == COORDINATOR and running and not problems
    here = _sites_here(kit) if asked else None
    connected = last_connections(kit)
    end = last_day(kit)
    said = {
        "project": kit.project,
        "name": kit.name,
        "coordinator": kit.address,
        "pin": kit.pin,
        "certificates_end": None if end is None else f"{end:%Y-%m-%d}",
        "running": running,
        "problems": problems,
        "sites": None if here is None else sorted(here),
        "connections": {n: asdict(each) for n, each in connected.items()},
    }
    if as_json:
        print_json(said)
        return
    print(f"project       {kit.project}")
    print(f"kit           {kit.name}, {'running' if running else 'not running'}")
    print(f"coordinator   {kit.address}")
    print(f"pin           {grouped_fingerprint(kit.pin)}")
    print(f"certificates  valid until {said['certificates_end'] or 'unknown'}")
    if here is not None:
        for name in kit.sites:
            print(f"site          {name}: {'here' if name in here else 'not here'}")
    elif asked:
        print("sites         unknown: the coordinator does not answer yet")
    for name, each in sorted(connected.items()):
        print(f"connection    {name} {each}")
    for problem in problems:
        print(f"problem       {problem}")
    if problems:
        talk.say(f"`lexfed deploy check {folder}` says what to do about problems")


def _sites_here(kit: Kit) -> frozenset[str] | None:
    """Return the sites that are connected; None if the coordinator does not answer."""
    from lexfed.federation.flare.jobs.admin_session import AdminSession

    try:
        with AdminSession(kit) as admin:
            return admin.sites()
    except RunFolderError:
        return None
