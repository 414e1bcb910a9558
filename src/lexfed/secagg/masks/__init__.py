# SPDX-License-Identifier: Apache-2.0
"""Double masking: who takes part, which secrets a site has, and the masks they make.

    terms          the agreement of all parties before the first message
    thresholds     how many shares open a secret, and who masks with whom
    cohort         the key list and the cohort of an epoch
    epoch_secrets  a site's secrets, their shares, commitments, and masks of a round
    vector_pieces  long vectors, piece by piece

Start with `terms`, then `cohort`. Whoever changes a threshold or a degree of the graph
changes a proof (docs/theory/secure-aggregation.md). Secrets serve one epoch, and every
round has its own. The state machines that use all this are in `mask_sessions`.
"""
