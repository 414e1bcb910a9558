# SPDX-License-Identifier: Apache-2.0
"""Rules that every FLARE process is put under before it opens a socket.

    tls13               TLS 1.3, certificates at both ends, one pinned coordinator
    inner_socket        a Unix socket between the processes of one kit
    search_confinement  settings are found in the kit alone, never in a job
    site_commands       a site keeps the commands that jobs need, and no other
    message_limit       longest message, refused before there is memory for it
    housekeeping        bounds on old job folders and on growing files

Most of these replace private parts of FLARE, so the version is pinned
(`tls13.FLARE_VERSION`); a new version needs a review of all of them. `process` puts
them in force.
"""
