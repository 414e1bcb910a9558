# SPDX-License-Identifier: Apache-2.0
"""Planning: from choices and public facts to a priced programme; nothing is spent.

Three programmes are planned here: `training_programme`, `importance_programme` and
`profile_programme`. Each asks for draft releases, shares the budget among them,
solves for the noise and lays out stages (`stage_layout`). Start with
`training_programme` and `choices`.

Which releases a tower asks for (`draft_releases`, `tower_sketches`) and how much
sites take part (`site_shares`) may be changed freely: all of it is priced
afterwards. Two things must hold. Planning reads public facts alone; and what is
asked of a tier depends on no release of a more sensitive one (Theorem C). Sites
plan again by themselves and refuse a programme that differs from their own.
"""
