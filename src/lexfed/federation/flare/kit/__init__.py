# SPDX-License-Identifier: Apache-2.0
"""A kit: the folder with which one organisation takes part in a deployment.

A kit on disk must equal `settings` value by value, or its process does not start. So
any change in `settings`, class paths included, asks every deployment for new kits.
`kit.toml`, `enrolment.json` and `roster.json` are formats with a version; people
compare the roster's fingerprint by telephone, so its bytes must not change. Nothing
here needs FLARE.
"""
