# SPDX-License-Identifier: Apache-2.0
"""The end of a profile in a deployment: answers from the released tables, on disk.

The sites have answered and forgotten the run; the rest follows from the released state
and from their signed statements. So it costs nothing, and can be done again.
"""

from dataclasses import replace

from lexfed.errors import RunFolderError
from lexfed.federation.flare.kit.enrolment import read_roster
from lexfed.federation.flare.kit.folder import Kit
from lexfed.run.deployed.coordinator.run_place import RunPlace
from lexfed.run.deployed.terms.agreement import agreed_profile
from lexfed.run.deployed.terms.site_statements import read_statements
from lexfed.run.driver.open_run import finished_result
from lexfed.run.purchases.profile_purchase import BoughtProfile, keep_profile


def end_profile(kit: Kit, run: str) -> BoughtProfile:
    """Write and log the answers of a finished profile, and return them.

    `run` is the name from `run_place.place_run`.

    Raises:
        RunFolderError: if it is no profile, is not finished, or cannot be logged.
        AuditError: if the statements of the sites are not those of the roster.
    """
    place = RunPlace(kit, run)
    bundle = place.bundle()
    result = finished_result(bundle.config, place.out) if place.begun else None
    if bundle.profile is None or result is None:
        raise RunFolderError(
            f"`{place.out}` holds no finished profile",
            "continue it with `lexfed deploy run --profile --resume`",
        )
    session = place.session(bundle)
    roster = read_roster(kit).keys
    said = read_statements(session.statements, bundle, session.run, roster)
    found = agreed_profile(bundle, bundle.profile, place.base, said)
    found = replace(found, priced=place.settled(found.priced))
    return BoughtProfile(result, keep_profile(found, place.out))
