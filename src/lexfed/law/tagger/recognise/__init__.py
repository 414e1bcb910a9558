# SPDX-License-Identifier: Apache-2.0
"""Recognisers: what the values of a column are, by shape and check digits."""
