# SPDX-License-Identifier: Apache-2.0
"""Signed logs of runs that never happened, and the two verifiers that judge them."""
