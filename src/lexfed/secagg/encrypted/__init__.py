# SPDX-License-Identifier: Apache-2.0
"""Sums under homomorphic encryption (BFV): the server adds, a key holder decrypts.

    terms                       parties and bound; the moduli follow from them
    coefficients, fingerprints  ciphertexts as numbers, and the check of their sum
    tenseal_bfv                 the only module that imports TenSEAL (`lexfed[he]`)
    site, server, key_holder    the three machines
    opened_sum                  the signed sum that the key holder returns

Start with `site`: its docstring has the messages and the limits. The key holder
decrypts one sum a round, and only after the fingerprints agree: BFV can be bent,
and whoever gets a crafted ciphertext decrypted learns others. Server and readers
of an opened sum need no TenSEAL. The moduli and the error bound are derived in
`terms`.
"""
