# SPDX-License-Identifier: Apache-2.0
"""Federated training under privacy budgets that the law sets."""

__version__ = "0.1.0"
