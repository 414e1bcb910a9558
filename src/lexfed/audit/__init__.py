# SPDX-License-Identifier: Apache-2.0
"""The log that anyone can verify, and what it proves.

Bytes (`merkle`, `tiles`, `note`, `checkpoint`, `cosignature`, `proof`, `trust`) follow
RFC 6962 and the C2SP specifications, so programs that know nothing of lexfed verify
them. `store` makes appends durable; `entries` says what an entry may hold; `log` joins
the two. `verify` checks a whole run folder, `rules` evaluates the catalogue of
obligations on it. Nothing here knows how models learn.
"""
