# SPDX-License-Identifier: Apache-2.0
"""The audit log of a run, and the checks that anyone can make on it.

    tree        Merkle tree, checkpoints, proofs: formats that others read too
    storage     the log's folder: durable appends, one writer, verified reading
    witness     witnesses and time stamps: memory outside the operator's reach
    entries     typed entries, and the blobs that they cite
    log         the log of one run: appending, keys in force, evidence
    rules       the catalogue of obligations, evaluated on entries
    verify      every check of `lexfed verify`
    standalone  the same checks in one file, without lexfed
    vocabulary  the code words in which people state facts; closed lists

Start with `log.audit_log` for writing and `verify.run_folder` for reading.
Content that is not sound raises `AuditError`; a file that the system keeps from
us, or a key or folder of another, raises `RunFolderError`. Docstrings name an
error only where there is more to say. Verifying needs neither torch nor a network.
"""
