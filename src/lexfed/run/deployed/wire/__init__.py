# SPDX-License-Identifier: Apache-2.0
"""Messages of coordinator and sites before the first round and after the last.

Start with `messages`: join, statement, offer, consent, begin and end, each a
DSSE envelope whose payload type names its kind. `signed_channel` lets a site
answer its own coordinator alone, each message once. `size_limits` bounds the
size of a run, before anybody consents to it.

Kinds, fields, code words of refusals and signed bytes are a protocol between
versions of the software at different organisations. Names of classes are not
part of it.
"""
