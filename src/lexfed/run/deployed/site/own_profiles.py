# SPDX-License-Identifier: Apache-2.0
"""A site's own record of profiles that it paid for, by which later runs pay less.

To spend a budget twice, somebody would name a profile that was cheaper than it was. So
a site believes no claim that is sent to it. When it agrees to a profile it records what
that promises, from the programme that it computed itself:

    KIT/state/runs/<number of the run>/{claim.json, encoding.json}

A run with `data.profile` brings the profile. The site looks for a record of its own
with the same releases and the same columns, and takes off what the record says.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lexfed.canonical import canonical_bytes
from lexfed.config.tables.root import Config
from lexfed.data.encoding import Encoding
from lexfed.errors import ConfigError, LexfedError, Problem, RunFolderError
from lexfed.federation.flare.kit.folder import Kit
from lexfed.law.tags import TaggedSchema
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.privacy.claim.proof import dump_claim, load_claim
from lexfed.privacy.claim.schema import Claim, counted_releases
from lexfed.privacy.scopes import CountedRelease
from lexfed.run.deployed.site.run_state import RunState
from lexfed.run.deployed.terms.bundle import CLAIM, ENCODING
from lexfed.run.earlier_runs import composition_obstacle, content_of, read_profile
from lexfed.run.pricing.priced_run import PricedRun

_KEY = "`data.profile`"
_HINT = "use a profile that was made by `lexfed deploy run --profile` with this site"


class OwnProfiles:
    """A site's records of the profiles that it took part in."""

    def __init__(self, kit: Kit) -> None:
        self._runs = kit.state / "runs"

    @staticmethod
    def keep(state: RunState, priced: PricedRun) -> bool:
        """Record a profile once; say whether it is the one recorded before."""
        claim = priced.claim(priced.programme.rounds)
        if claim is None:  # pragma: no cover - a profile is always private
            return True
        columns = priced.population.encoding.to_dict()
        # Where there is a claim there are columns, also after a crash.
        same = state.keep(ENCODING, canonical_bytes(columns))
        return same and state.keep(CLAIM, canonical_bytes(dump_claim(claim)))

    def claim(self, config: Config, base: Path) -> Claim | None:
        """Return the claim on record here of the profile that a run uses, if any."""
        found = self._record(config, base)
        return None if found is None else found[0]

    def paid(
        self, config: Config, base: Path, tagged: TaggedSchema
    ) -> tuple[CountedRelease, ...]:
        """Return the releases of a run's profile, by the site's own record.

        Guarantees:
            Refused unless the site agreed to this profile itself, and person, label,
            unit, neighbours, sites per person, trust and tiers are such that the
            prices add up.
            What is taken off follows from no file that came with the run.
        """
        found = self._record(config, base)
        if found is None:
            return ()
        claim, columns = found
        known, schema = Encoding.from_dict(columns), tagged.schema
        wrong = list(composition_obstacle(claim, known, config, schema, tagged.tiers()))
        if wrong:
            raise ConfigError([Problem(_KEY, f"it {what}", _HINT) for what in wrong])
        return counted_releases(claim.releases)

    def _record(self, config: Config, base: Path) -> tuple[Claim, Any] | None:
        if config.data.profile is None:
            return None
        folder = base / config.data.profile
        try:
            read_profile(folder)
            named = load_claim(content_of(folder, CLAIM, _HINT))
            columns = json.loads(content_of(folder, ENCODING, _HINT))
        except (LexfedError, ValueError) as error:
            what = error.message if isinstance(error, LexfedError) else "is damaged"
            raise ConfigError([Problem(_KEY, what, _HINT)]) from error
        for claim, own in self._records():
            if claim.releases == named.releases and own == columns:
                return claim, own
        what = "this site has not taken part in that profile"
        raise ConfigError([Problem(_KEY, what, _HINT)])

    def _records(self) -> Iterator[tuple[Claim, Any]]:
        for path in sorted(self._runs.glob(f"*/{CLAIM}")):
            try:
                kept = read_plain(path.parent / ENCODING, MOST_OF_A_DOCUMENT)
                claim = load_claim(read_plain(path, MOST_OF_A_DOCUMENT))
                yield claim, json.loads(kept)
            except (OSError, ValueError, LexfedError) as error:
                raise RunFolderError(
                    f"`{path.parent}` is damaged", "restore it from a copy"
                ) from error
