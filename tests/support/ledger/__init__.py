# SPDX-License-Identifier: Apache-2.0
"""Checks of ledgers and of the purse, and histories of restored backups."""
