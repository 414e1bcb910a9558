# SPDX-License-Identifier: Apache-2.0
"""Jobs of a deployment: submitted by the administrator, run at both ends.

A job is one set-up epoch of a run: it names two classes of
`lexfed.run.deployed.flare_parts`, which the allow list of every kit names too, and
brings neither code nor data. The topics and keys in `executor` are the protocol between
versions. No rule about privacy belongs here: a site's rules sit behind its door.
"""
