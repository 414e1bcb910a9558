# SPDX-License-Identifier: Apache-2.0
"""`lexfed.toml`: its shape, its rules, and the words for what is wrong with it."""

from lexfed.config.model import Config

__all__ = ["Config"]
