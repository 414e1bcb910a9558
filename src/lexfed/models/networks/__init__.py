# SPDX-License-Identifier: Apache-2.0
"""Networks: torch modules that may be trained privately, and their parameters.

`architectures` builds models by name. `known_layers` says which have a closed form for
per-unit norms, makes them again from numbers, and runs them forth and back, keeping
what the closed form needs. `captured_model` turns any other into graphs for one
record, which `graph_rules` checks. `flat_parameters` is the vector that sums and noise
live on.

Start with `architectures`. A layer may be added to `known_layers` only if it
looks at one record at a time. The order of the flat vector is part of saved
models.
"""
