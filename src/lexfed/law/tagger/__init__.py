# SPDX-License-Identifier: Apache-2.0
"""Says of every column what it is in the eyes of the law, how surely, and why."""
