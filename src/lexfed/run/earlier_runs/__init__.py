# SPDX-License-Identifier: Apache-2.0
"""Finished runs on the same persons, as far as a new run uses and pays for them.

Start with `charged_releases`: the releases of an earlier run, refused unless
its price and that of the new run add up. `used_profile` reads the profile that
`data.profile` names, `released_model` the model and encoding of a run folder.

A cost is taken only from a folder that verifies, and a model only with the
digest that was logged (without privacy the log has none). The reasons for which
two prices do not add up belong to the guarantee; none may be left out.
"""
