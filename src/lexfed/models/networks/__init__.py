# SPDX-License-Identifier: Apache-2.0
"""Networks: torch modules that may be trained privately, and their parameters.

Start with `architectures`. A layer may be added to `known_layers` only if it looks at
one record at a time. The order of the flat vector is part of saved models.
"""
