# SPDX-License-Identifier: Apache-2.0
"""A log in which every rule finds its evidence, and the cases that spoil it."""
