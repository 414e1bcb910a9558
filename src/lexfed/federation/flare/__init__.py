# SPDX-License-Identifier: Apache-2.0
"""Deployments on NVIDIA FLARE, which moves bytes between organisations.

Only this package imports `nvflare` (extra `flare`), and only where it is used: FLARE
is not needed to read a kit, to enrol or to check. The meaning of the bytes is
decided in `lexfed.run`, on both ends.

    kit/        the folder of one organisation: settings, keys, roster
    provision/  kits are made, and checked again whenever a process starts
    hardening/  the rules that FLARE's processes are put under
    jobs/       jobs, and the two ends of a job's messages

Start with `process`, in which every FLARE process begins. The modules beside the
rooms are named by path in the settings of kits (`kit.settings`): the path and class
of `notices`, `connections`, `storage`, `launcher` and `coordinator_launcher` are a
file format. Renaming one makes every deployed kit fail its start-up check.
"""
