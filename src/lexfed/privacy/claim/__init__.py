# SPDX-License-Identifier: Apache-2.0
"""Claims: the published statement about a model, computed from its releases alone.

    composition  several claims together, for somebody who is in all of their runs
    premises     the facts that a claim is computed from, and the sites it assumes
    proof        build a claim, write it, read it, price it again
    lines        the price of every line, and the delta that it pays for the sampler
    schema       the closed shape of the file, and its JSON schema

Start with `proof`. `claim.schema.json` is published, and a test keeps it equal to
`schema`; class names, docstrings and the order of fields and literals are part of it. A
changed shape needs a new `VERSION`, and old claims are still read.
"""
