# SPDX-License-Identifier: Apache-2.0
"""Deployments on NVIDIA FLARE, which moves bytes between organisations.

Only this package imports `nvflare` (extra `flare`), and only where it is used: FLARE is
not needed to read a kit, to enrol or to check. What the bytes mean is decided in
`lexfed.run`, on both ends.
"""
