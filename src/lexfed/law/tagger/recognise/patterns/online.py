# SPDX-License-Identifier: Apache-2.0
"""Addresses of machines, keys, secrets and user agents of browsers."""

import re
from ipaddress import AddressValueError, IPv6Address

from lexfed.law.tagger.recognise.checksums import luhn
from lexfed.law.tagger.recognise.recogniser import Recogniser, cues, regex


def not_a_version(value: str) -> bool:
    """Return True if four numbers are an address: versions stay small."""
    parts = [int(part) for part in value.split(".")]
    return all(part < 256 for part in parts) and max(parts) > 31


def ipv6(value: str) -> bool:
    """Return True if a text is an IPv6 address, with or without a zone."""
    try:
        IPv6Address(value)
    except (AddressValueError, ValueError):
        return False
    return True


_SECRETS = (
    r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}|\$argon2(?:id|i|d)\$.{20,}|"
    r"\$[156]\$[./A-Za-z0-9]{2,16}\$[./A-Za-z0-9]{20,}|"
    r"(?:pbkdf2_sha\d+|scrypt|bcrypt)[$:].{20,}|\{(?:SSHA\d*|SHA|MD5)\}.{16,}"
)
_PROFILE = (
    r"(?:https?://)?(?:[a-z]{2,3}\.)?(?:facebook|fb|twitter|x|instagram|linkedin|"
    r"tiktok|xing|github|gitlab|threads|vk|t|youtube|medium|pinterest|snapchat)"
    r"\.(?:com|net|me)/(?:in/|pub/|user/|users/|profile/|profiles/|add/|@)?[\w.%@-]+/?"
)

ONLINE = (
    Recogniser("IPv4 addresses", regex(r"(?:\d{1,3}\.){3}\d{1,3}"),
               "online_identifier", 4.5, not_a_version, chance=0.05, raw=True,
               context=cues("ip ipv4 addr host")),
    Recogniser("IPv6 addresses", regex(r"(?=.*:.*:)[0-9a-fA-F:.]{3,45}(?:%\w+)?"),
               "online_identifier", 4.5, ipv6, chance=0.01, raw=True,
               context=cues("ip ipv6 addr")),
    Recogniser("hardware addresses of network devices",
               regex(r"(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}|"
                     r"(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}"),
               "online_identifier", 4.5, chance=0.01, context=cues("mac hardware")),
    Recogniser("addresses with a user name and a password in them",
               regex(r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@\S+", re.IGNORECASE),
               "account_credential", 5.0, share=0.3, chance=0.01),
    Recogniser("addresses of personal profiles", regex(_PROFILE, re.IGNORECASE),
               "online_identifier", 4.0, chance=0.01,
               context=cues("profile twitter linkedin facebook instagram social")),
    Recogniser("addresses of pages",
               regex(r"(?:https?|ftp|s3|gs)://[^\s@]+|www\.[^\s@]+", re.IGNORECASE),
               "technical", 1.0, chance=0.01, context=cues("url link href uri")),
    Recogniser("device numbers (IMEI)", regex(r"\d{15}|\d\d-\d{6}-\d{6}-\d"),
               "online_identifier", 4.5, luhn,
               context=cues("imei device handset terminal")),
    Recogniser("what browsers say of themselves",
               regex(r"(?:Mozilla|Opera|Dalvik|curl|python-requests|okhttp|PostmanRuntime)"
                     r"/\d.*|Googlebot.*"),
               "behavioural", 3.5, chance=0.01, context=cues("agent browser ua")),
    Recogniser("hashes of passwords", regex(_SECRETS), "account_credential", 6.0,
               chance=0.001),
    Recogniser("signed tokens", regex(r"eyJ[\w-]{5,}\.eyJ[\w-]{5,}\.[\w-]*"),
               "account_credential", 6.0, chance=0.001),
    Recogniser("access keys of services",
               regex(r"(?:AKIA|ASIA)[A-Z0-9]{16}|gh[opsur]_\w{36,}|glpat-[\w-]{20,}|"
                     r"[sprk]{2}_(?:live|test)_\w{16,}|xox[abprs]-[\w-]{10,}|"
                     r"AIza[\w-]{35}|sk-[\w-]{20,}|"
                     r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
                     re.DOTALL),
               "account_credential", 6.0, chance=0.001),
    Recogniser("passwords: letters, digits and other signs mixed",
               re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])(?=.*[^\w\s])\S{8,40}"),
               "account_credential", 3.5, share=0.5, context=cues(
                   "password passwd pwd passwort kennwort motdepasse contrasena senha "
                   "wachtwoord secret"), needs=True),
    Recogniser("crypto wallet addresses",
               regex(r"0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,59}|"
                     r"[13][1-9A-HJ-NP-Za-km-z]{25,34}"),
               "account_credential", 4.0, chance=0.01,
               context=cues("wallet address btc eth")),
)  # fmt: skip
"""Addresses, keys and secrets."""
