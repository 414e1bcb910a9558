# SPDX-License-Identifier: Apache-2.0
"""Deployments on NVIDIA FLARE, which moves bytes between organisations.

Only this package imports `nvflare` (extra `flare`), and only where it is used: FLARE is
not needed to read a kit, to enrol or to check. The meaning of the bytes is decided in
`lexfed.run`, on both ends. Start with `process`, in which every FLARE process begins.

Settings of kits (`kit.settings`) name classes by path: the path and class of `notices`,
`connections`, `storage`, `launcher` and `coordinator_launcher` are a file format.
Renaming one makes every deployed kit fail its start-up check.
"""
