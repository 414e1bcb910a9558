# SPDX-License-Identifier: Apache-2.0
"""Secure aggregation: a sum of all sites' vectors, and nobody sees a single one.

    prg         masks from keys
    field       arithmetic in GF(65521)
    shamir      shares of secrets
    ring        signed integers modulo 2^b, with wraps that fail
    thresholds  how many shares open a secret if the server lies
    graph       who masks with whom
    identities  who takes part
    agree       keys that two sites share, bound to model and policy

    setting     what all agree on beforehand
    messages    the signed envelope; payloads: what is in it
    dealing     a site's secrets of an epoch, and shares of them
    cohort      who is in an epoch
    masking     masks of a round
    pieces      long vectors, piece by piece
    site_setup, site  a site's machine, for set-up and rounds
    server_setup, server, unmasking  the server's, for set-up, rounds and opening
    relay       regions that add masked vectors on their way to the server
    record      what shows which sum was opened; record_json: as bytes

    sharing     vectors shared among several aggregators; mersenne: GF(2^61 - 1)
    operators, aggregator  a site's machine and an aggregator's for that

    he_terms    sums under encryption: who holds the key, which numbers
    he_coefficients, he_fingerprint, he_bfv  ciphertexts, what shows a sum, TenSEAL
    he_site, he_server, he_holder, he_opened  the machines, and what comes out

Nothing here opens a connection or knows what the vectors mean.
"""
