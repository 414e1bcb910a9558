# SPDX-License-Identifier: Apache-2.0
"""What each person alone would add to a release: the sums of `contribute`, unsummed.

A site forms one clipped vector per person and adds them up. An attacker who knows a
person can form that vector too. The functions are those of `contribute`, looked up when
they are needed, so that an audit of broken code attacks what the broken code does.
Gradients of networks are never formed one by one: there `contribute` is asked once for
each person.
"""

import numpy as np
import torch

from lexfed.arrays import Floats
from lexfed.federation.programme.messages import Query
from lexfed.federation.programme.sequence import Programme
from lexfed.federation.programme.site_weights import sum_weights
from lexfed.federation.site import contributions as at_sites
from lexfed.federation.site.unit_batch import UnitBatch


def contributions(
    query: Query, programme: Programme, cohort: UnitBatch, place: int
) -> Floats:
    """Return what each unit would add at a site, [units, dimension].

    Guarantees:
        The sum over units is that of `contribute`, up to rounding.
    """
    stage = programme.stages[query.stage].at(query.step)
    weight = torch.tensor([stage.factors[place]], dtype=torch.float64)
    vectors = at_sites._VECTORS.get(stage.kind)
    if vectors is None or cohort.shares is not None:
        alone = [cohort.between(i, i + 1) for i in range(len(cohort))]
        rows = [
            at_sites.contribute(query, programme, one, weight, (place,)).numpy()
            for one in alone
        ]
        return np.array(rows).reshape(len(cohort), stage.dimension)
    formed = at_sites._per_unit(vectors(query, programme, cohort), cohort)
    factor = sum_weights(query, weight, (place,))
    return np.asarray((factor * at_sites._clip(formed, stage)).numpy())
