# SPDX-License-Identifier: Apache-2.0
"""The figures of the evaluation, made from its tables and never edited."""

from lexfed.evaluate.drawings.draw import draw

__all__ = ["draw"]
