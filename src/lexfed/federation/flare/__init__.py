# SPDX-License-Identifier: Apache-2.0
"""Deployments on NVIDIA FLARE, which moves bytes between organisations.

Only this package imports `nvflare` (extra `flare`), and only where it is used: FLARE
is not needed to read a kit, to enrol or to check. The meaning of the bytes is
decided in `lexfed.run`, on both ends.

    kit/           the folder of one organisation: settings, keys, roster
    hardening/     the rules that FLARE's processes are put under
    jobs/          jobs, and the two ends of a job's messages
    new_kits       kits are made here once
    startup_check  a kit is compared with its making at every start

A problem of a kit is one line: the file, the deviation, its consequence and the
remedy. The check compares whole files with `kit.settings`, so a new setting is
covered without a line there. Never let it pass a value that it does not know.

Start with `process`, in which every FLARE process begins. Settings of kits
(`kit.settings`) name classes by path: the path and class of `notices`, `connections`,
`storage`, `launcher` and `coordinator_launcher` are a file format. Renaming one makes
every deployed kit fail its start-up check.
"""
