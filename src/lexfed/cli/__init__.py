# SPDX-License-Identifier: Apache-2.0
"""The command line. Heavy imports happen inside the commands, so `--help` is quick."""

from lexfed.cli.app import main

__all__ = ["main"]
