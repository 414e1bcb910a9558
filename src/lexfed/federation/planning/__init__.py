# SPDX-License-Identifier: Apache-2.0
"""Planning: from choices and public facts to a priced programme; nothing is spent.

`training_programme` and `purchase_programmes` each make a draft (`programme_draft`) and
choose how towers share the budget; `programme_price` solves for the noise and lays out
stages. Start with `training_programme` and `choices`.

The releases that a tower wants (`draft_releases`, `tower_sketches`) and the shares
of sites (`site_shares`) may be changed freely: all of it is priced afterwards. Two
things must hold. Planning reads public facts alone; and no question about a tier
depends on a release of a more sensitive one (Theorem C). Sites plan again by
themselves and refuse a programme that differs from their own.
"""
