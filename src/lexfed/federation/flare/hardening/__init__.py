# SPDX-License-Identifier: Apache-2.0
"""Rules that every FLARE process is put under before it opens a socket.

Most of these replace private parts of FLARE, so the version is pinned
(`tls13.FLARE_VERSION`); a new version needs a review of all of them.
"""
