# SPDX-License-Identifier: Apache-2.0
"""Keys, and the forms in which signed bytes are written and read.

Start with `keys` (Ed25519 keys on disk, and the `Signer` that holds one) and
`dsse` (envelopes with signatures over a payload, and the statements inside log
entries). `notes` are signed texts after the C2SP signed-note specification,
`strict_text` readers that accept one spelling per value.

Audit, federation, configuration and runs all sign with these modules, so they
import the kernel and nothing else. Every form here is a file format, and what
is hashed or signed is the stored spelling: a change of one byte invalidates
signatures that exist. No reader may accept a second spelling of a value.
"""
