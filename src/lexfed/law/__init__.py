# SPDX-License-Identifier: Apache-2.0
"""What the law says about each column: its tier, its articles, and why."""
