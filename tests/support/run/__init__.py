# SPDX-License-Identifier: Apache-2.0
"""Whole runs in a folder: neighbouring tables, profiles, damaged files."""
