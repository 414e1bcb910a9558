# SPDX-License-Identifier: Apache-2.0
"""Sketches and profiles of known contents, and checks of both."""
