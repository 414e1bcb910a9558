# SPDX-License-Identifier: Apache-2.0
"""The Merkle tree under a log, and its public formats [RFC 6962, C2SP tlog-*].

Programs that know nothing of lexfed read these bytes, so no format may change.
The modules neither read nor write files. Start with `merkle`.
"""
