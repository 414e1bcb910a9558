# SPDX-License-Identifier: Apache-2.0
"""Small federations, and checks of what rounds promise."""
