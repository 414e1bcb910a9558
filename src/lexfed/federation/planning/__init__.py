# SPDX-License-Identifier: Apache-2.0
"""Planning: from choices and public facts to a priced programme; nothing is spent.

Three programmes are planned here: `training_programme`, `importance_programme` and
`profile_programme`. Each makes a draft (`programme_draft`) and says how towers share
the budget; `programme_price` solves for the noise and lays out stages
(`stage_layout`). Start with `training_programme` and `choices`.

The releases that a tower wants (`draft_releases`, `tower_sketches`) and the shares
of sites (`site_shares`) may be changed freely: all of it is priced afterwards. Two
things must hold. Planning reads public facts alone; and what is asked of a tier
depends on no release of a more sensitive one (Theorem C). Sites plan again by
themselves and refuse a programme that differs from their own.
"""
