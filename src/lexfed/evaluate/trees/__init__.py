# SPDX-License-Identifier: Apache-2.0
"""Gradient-boosted trees over several sites: one process per site, joined by pipes.

`process_group.py` starts the processes, relays their blocks and ends them; `site.py` is
the program of one of them, `network.py` frames blocks and gives LightGBM its two
exchanges. No port is opened. `site.py` loads no torch, which would take longer than the
trees do: nothing that it imports, this file included, may import `methods`, `models` or
`run`.
"""
