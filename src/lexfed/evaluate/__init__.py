# SPDX-License-Identifier: Apache-2.0
"""What protection costs, what tailoring buys, and whether attacks agree with proofs.

`datasets` prepares public tables and synthetic ones, each with a declaration that was
written by hand and never read from the rows. Everything else here trains, attacks and
compares on them through the same code that a run of the product uses.
"""
