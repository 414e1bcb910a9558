# SPDX-License-Identifier: Apache-2.0
"""Budgets: what may be spent, how it is shared among tiers, and the priced plan."""
