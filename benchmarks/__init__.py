# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: each prints one JSON line of ratios against a peer in the same run."""
