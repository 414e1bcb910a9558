# SPDX-License-Identifier: Apache-2.0
"""Do plan, rounds, tags and claim prove the guarantee that is stated?

Start with `plan_price`, which prices the logged plan again with the accountant
of the policy; `plan_adherence` holds rounds to it by the logged filter (F0, F1,
F2), `spending` composes the events round by round, `stated_claim` compares the
claim with all of it, `tags` the columns of tags, encoding and claim.

Lost rounds count as spent. A stated number may lie above the computed one and
never below; `TOLERANCE` covers the floats of two machines and nothing else.
"""
