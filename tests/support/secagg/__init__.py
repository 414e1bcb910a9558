# SPDX-License-Identifier: Apache-2.0
"""Whole epochs of secure aggregation in one process, disputes and lies in them."""
