# SPDX-License-Identifier: Apache-2.0
"""Claims, adversaries and checks of what is charged."""
