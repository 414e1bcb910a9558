# SPDX-License-Identifier: Apache-2.0
"""Signed messages between sites and servers, bound to one round of one session.

    identities       Ed25519 identities, rosters, and the conditions of all protocols
    key_agreement    the context of a round, and the keys that two sites share in it
    sealed_messages  the envelope: kind, context, sender, payload, signature
    payloads         the payloads of masking, as bytes of known lengths

Start with `sealed_messages.open_sealed`: nothing in a message chooses how it is parsed.
A new message is a new number in `EnvelopeKind`; numbers are never reused. Layouts,
domain strings and the fields of a context are the protocol itself (`PROTOCOL` is its
version; docs/theory/secure-aggregation.md lists them for others).
"""
