# SPDX-License-Identifier: Apache-2.0
"""A profile of a federation: what released tables say about columns and sites.

Everything here is computed from tables that are already private, so that asking
costs nothing, and from declarations that are public.
"""
