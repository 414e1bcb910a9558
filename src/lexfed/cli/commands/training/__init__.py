# SPDX-License-Identifier: Apache-2.0
"""Commands that train a model, or buy what training needs to know beforehand.

Start with `run`: it trains with progress on the screen and stops between rounds at
Ctrl-C. These commands only read options and print; charging happens in `lexfed.run`. A
release that was begun stays charged, so an interruption waits for the round's end.
"""
