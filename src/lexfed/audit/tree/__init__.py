# SPDX-License-Identifier: Apache-2.0
"""The Merkle tree under a log, and its public formats [RFC 6962, C2SP tlog-*].

`merkle` holds the hashes and both proofs; `tiles` the files of the tree;
`checkpoint` the signed size and root, and witnesses' signatures on it;
`proof_files` proofs as files; `trust_policy` the auditor's rule for believing a
checkpoint. Start with `merkle`.

Programs that know nothing of lexfed read these bytes, so no format may change.
The modules neither read nor write files: they are functions of their arguments.
"""
