# SPDX-License-Identifier: Apache-2.0
"""The coordinator: it asks the next query, adds the noise and learns from the release.

Start with `rounds`. All state is a `Progress`: the released model and released vectors
by name. Learning is a function of that and of public constants, so it costs nothing and
may be changed freely, as long as it never sees an answer before noise. The names in
`Progress.memory` are stored in run folders.
"""
