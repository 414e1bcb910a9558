# SPDX-License-Identifier: Apache-2.0
"""Sums under homomorphic encryption (BFV): the server adds, a key holder decrypts.

    terms        parties and bound; the moduli and the error bound follow from them
    ciphertexts  ciphertexts as numbers, and the fingerprints that check their sum
    tenseal_bfv  the only module that uses TenSEAL (`lexfed[he]`), once it is needed
    parties      the state machines of site, server and key holder; their messages

Start with `parties`. The key holder decrypts one sum a round, and only after the
fingerprints agree: whoever gets a crafted ciphertext decrypted learns others.
"""
