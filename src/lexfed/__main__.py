# SPDX-License-Identifier: Apache-2.0
"""`python -m lexfed` is the command `lexfed`."""

from lexfed.cli import main

main()
