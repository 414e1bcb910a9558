# SPDX-License-Identifier: Apache-2.0
"""Planning: from choices and public facts to a priced programme; nothing is spent.

Start with `training_programme` and `choices`. The releases that a tower wants
(`draft_releases`, `tower_sketches`) and the shares of sites (`site_shares`) may be
changed freely: all of it is priced afterwards (`programme_price`). Two things must
hold. Planning reads public facts alone; and no question about a tier depends on a
release of a more sensitive one (Theorem C). Sites plan again by themselves and refuse a
programme that differs from their own.
"""
