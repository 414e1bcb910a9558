# SPDX-License-Identifier: Apache-2.0
"""Rules that every FLARE process is put under before it opens a socket.

    tls13         TLS 1.3, certificates at both ends, one pinned coordinator
    inner_socket  a Unix socket between the processes of one kit
    limits        on messages, commands, the search for settings, and growing files

Most of these replace private parts of FLARE, so the version is pinned
(`tls13.FLARE_VERSION`); a new version needs a review of all of them. `process` puts
them in force.
"""
