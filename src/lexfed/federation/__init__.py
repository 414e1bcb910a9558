# SPDX-License-Identifier: Apache-2.0
"""Sites and coordinator as state machines over typed messages, and the engines.

Nothing here knows a network: an engine moves bytes between `Coordinator` and `Site`.
"""
