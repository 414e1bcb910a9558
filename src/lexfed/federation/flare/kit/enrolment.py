# SPDX-License-Identifier: Apache-2.0
"""An organisation's own part in its kit: making its key, taking over the roster.

The key is made where it is used and never leaves it. That is unlike the TLS keys, which
whoever ran `lexfed deploy init` has seen: so no guarantee to a site rests on those.
"""

import os
from pathlib import Path

from lexfed.durable import write_atomically
from lexfed.errors import ConfigError, Problem, RunFolderError, system_reason
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.flare.kit.roster import DeploymentRoster, Enrolment
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.signing.keys import create_key, load_key


def enrol(kit: Kit) -> Enrolment:
    """Make the key of a kit, if it has none yet, and write its enrolment.

    Guarantees:
        A key that is there is kept; asking twice changes nothing.

    Raises:
        RunFolderError: if the key cannot be made or used.
    """
    if not os.path.lexists(kit.identity_key):
        create_key(kit.identity_key)
    made = Enrolment.of(kit)
    write_atomically(kit.enrolment, made.to_bytes())
    return made


def write_roster(kit: Kit, paths: list[Path]) -> DeploymentRoster:
    """Write the roster into the coordinator's kit, from everybody's enrolments.

    The coordinator's own key is made here, if it has none yet: on its machine, whoever
    made the kits.

    Raises:
        ConfigError: naming every enrolment that does not fit.
        RunFolderError: if the kit is a site's.
    """
    if kit.role != "coordinator":
        raise RunFolderError(
            f"`{kit.folder}` is the kit of a site",
            "the coordinator collects enrolments; a site takes over what it wrote: "
            "`lexfed site roster KIT roster.json`",
        )
    found = [enrol(kit)]
    problems: list[Problem] = []
    for path in paths:
        try:
            found.append(Enrolment.read(path))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return _keep(kit, DeploymentRoster.of(kit, found))


def install_roster(kit: Kit, path: Path) -> DeploymentRoster:
    """Put a roster into a site's kit.

    Guarantees:
        A roster without this kit's own key and pin, or with a key that nobody
        proved to have, is not taken over.
        A roster that is there is never replaced by a different one.

    Raises:
        ConfigError: naming what does not fit.
    """
    return _keep(kit, read_roster(kit, path))


def read_roster(kit: Kit, path: Path | None = None) -> DeploymentRoster:
    """Read a roster, the kit's own by default, and check all of it against the kit.

    Raises:
        ConfigError: naming what does not fit.
    """
    roster = DeploymentRoster.read(path or kit.roster, kit)
    own = load_key(kit.identity_key).public_key().public_bytes_raw()
    if roster.keys[kit.name] != own:
        problem = Problem(
            str(path or kit.roster),
            f"it has another key for `{kit.name}` than this kit",
            "do not start: somebody enrolled in your name, or you made a new key and "
            "the roster is old; ask who collected it",
        )
        raise ConfigError([problem])
    return roster


def _keep(kit: Kit, roster: DeploymentRoster) -> DeploymentRoster:
    if kit.roster.exists() and _content(kit.roster) != roster.to_bytes():
        raise RunFolderError(
            f"`{kit.roster}` is there and has other keys",
            "keys change only together with everybody: compare fingerprints, and "
            "remove the old roster if you all agree to the new one",
        )
    write_atomically(kit.roster, roster.to_bytes())
    return roster


def _content(path: Path) -> bytes:
    try:
        return read_plain(path, MOST_OF_A_DOCUMENT)
    except OSError as error:
        reason = system_reason(error)
        raise RunFolderError(f"cannot read `{path}`: {reason}") from error
