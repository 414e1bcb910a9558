# SPDX-License-Identifier: Apache-2.0
"""The engine of a run, by its configuration and by the place of its sites.

Sites in this process have a ledger each, in the run folder. Sites behind a channel keep
theirs. Behind masks both are reached by the same messages, so that a deployment does
the same as a test in one process.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from lexfed.errors import RunFolderError, system_reason
from lexfed.federation.engines.channel import Channel, InProcessChannel
from lexfed.federation.engines.clear_sums import (
    CheckReceipt,
    Engine,
    InProcess,
    OverChannel,
    Simulation,
)
from lexfed.federation.engines.masked_setting import (
    MaskEpochs,
    epoch_settings,
    seat_identity,
)
from lexfed.federation.engines.masked_site import MaskedSite
from lexfed.federation.engines.masked_sums import MaskedSums
from lexfed.federation.site.data_holder import Site, Sources
from lexfed.privacy.run_ledger import FileLedger
from lexfed.run.driver.open_run import OpenRun
from lexfed.run.driver.round_replies import check_receipt
from lexfed.run.driver.site_accounts import SiteAccounts
from lexfed.run.pricing.priced_run import PricedRun


@dataclass(frozen=True)
class EngineFactory:
    """Makes the engine of a run; `open_files` closes what it opens."""

    priced: PricedRun
    run: OpenRun
    sources: Sources
    accounts: SiteAccounts
    open_files: ExitStack

    def engine(self, channel: Channel | None) -> Engine:
        """Return the engine over a channel, or the one of this process without."""
        programme, config = self.priced.programme, self.priced.config.federation
        if programme.cohort is not None:
            return self._masked(self._masked_doors() if channel is None else channel)
        if channel is not None:
            return OverChannel(programme, channel, config.dropouts, self._check)
        if config.engine == "simulation":
            sites = self.priced.population.sites
            return Simulation(programme, sites, self.sources)
        return InProcess(self._sites())

    def _masked(self, channel: Channel) -> MaskedSums:
        keys, origin = self.run.logbook.keys, self.run.logbook.log.origin
        programme, leader = self.priced.programme, keys.log.coordinator
        epochs = MaskEpochs.of(programme, origin, keys.public, leader, self._next_epoch)
        return MaskedSums(
            programme,
            channel,
            epochs,
            self._check,
            self._exclude,
            self._excluded_before(),
        )

    def _next_epoch(self) -> int:
        """Return a number that no set-up of this run had; on return it is on disk."""
        events = self.run.folder.events
        known = [row["epoch"] for row in events.rows if row["type"] == "set-up"]
        epoch = max(known, default=0) + 1
        events.append({"type": "set-up", "epoch": epoch})
        return epoch

    def _excluded_before(self) -> tuple[str, ...]:
        """Return the sites that this run has excluded; the log has them all."""
        rows = self.run.folder.events.rows
        sites = tuple(row["site"] for row in rows if row["type"] == "excluded")
        for site in sites:
            self.run.logbook.excluded(site)
        return sites

    def _exclude(self, site: str, reason: str) -> None:
        """Record that a site broke the rules of masked sums, also for later jobs."""
        row = {"type": "excluded", "site": site, "reason": reason}
        self.run.folder.events.append(row)
        self.run.logbook.excluded(site)

    def _masked_doors(self) -> InProcessChannel:
        keys, origin = self.run.logbook.keys, self.run.logbook.log.origin
        leader = keys.log.coordinator.public
        setting = epoch_settings(self.priced.programme, origin, keys.public, leader)
        doors = {}
        for site in self._sites():
            identity = seat_identity(keys.sites[site.name])
            doors[site.name] = MaskedSite(site, identity, setting).handle
        return InProcessChannel(doors)

    @property
    def _check(self) -> CheckReceipt:
        return partial(check_receipt, keys=self.run.logbook.keys.public)

    def _sites(self) -> list[Site]:
        """Return the sites of this process, each with a ledger of its own."""
        ledgers = self.run.path / "sites"
        try:
            ledgers.mkdir(exist_ok=True)
        except OSError as error:
            raise RunFolderError(
                f"cannot write `{ledgers}`: {system_reason(error)}",
                "fix the folder's permissions, then continue the run with `--resume`",
            ) from error
        sites = []
        for number, site in enumerate(self.priced.population.sites, start=1):
            ledger, rules = None, self.priced.site_ledger(site.name)
            if rules is not None:
                own = FileLedger(ledgers / f"{number}.jsonl", rules)
                self.open_files.callback(own.close)
                ledger = self.accounts.behind(own, number - 1)
            signer = self.run.logbook.keys.sites[site.name]
            programme, sources = self.priced.programme, self.sources
            log = self.run.logbook.log.origin
            sites.append(Site(programme, site, ledger, sources, signer, log=log))
        return sites
