# SPDX-License-Identifier: Apache-2.0
"""Deployments on this machine, in one process or in several."""
