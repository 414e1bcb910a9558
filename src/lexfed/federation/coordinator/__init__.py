# SPDX-License-Identifier: Apache-2.0
"""The coordinator: it asks the next query, adds the noise and learns from the release.

`rounds` has `Coordinator`: `next` charges a round and returns its query, `receive`
takes the answers. `learner` decides what a stage asks and what follows from a
release, with `noisy_descent` for towers that no rule trains and `sketch_learner` for
stages of sketches.

All state is a `Progress`: the released model and released vectors by name. Learning
is a function of that and of public constants, so it costs nothing and may be
changed freely, as long as it never sees an answer before noise. The names in
`Progress.memory` are stored in run folders. A round is charged before anybody
computes, and noise is fresh in every round.
"""
