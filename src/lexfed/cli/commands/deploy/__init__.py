# SPDX-License-Identifier: Apache-2.0
"""The commands `deploy`, `coordinator` and `site`: runs between organisations.

`group` puts them together. Start with `kits`: making kits, the roster, checks, status.
`run` trains with sites that are elsewhere and `profile` profiles them;
`participants` has the steps of one organisation: enrol, compare the roster, agree
to a run, start.

Whoever starts a site or the coordinator becomes a process of FLARE
(`lexfed.federation.flare`). Nothing starts before the kit is checked, and a site
takes part only in a run that it agreed to, at a price it was told.
"""
