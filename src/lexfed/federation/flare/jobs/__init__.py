# SPDX-License-Identifier: Apache-2.0
"""Jobs of a deployment: submitted by the administrator, run at both ends.

`admin_session` writes, submits and ends jobs. A job is one set-up epoch of a run: it
names two classes, which the allow list of every kit names too, and brings neither
code nor data. `channel` is the coordinator's end: it carries messages to the sites and
drops sites that show no sign of life. `executor` is a site's end.

The classes that jobs name live in `lexfed.run.deployed.flare_parts` and derive from
`EpochController` and `SiteExecutor`. The topics and keys in `executor` are the
protocol between versions. No rule about privacy belongs here: a site's rules sit
behind its door.
"""
