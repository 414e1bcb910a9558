# SPDX-License-Identifier: Apache-2.0
"""Small data sets and results for the tests of the evaluation."""
