# SPDX-License-Identifier: Apache-2.0
"""Ways to reach a person, addresses of machines, and the secrets kept beside them."""

import re
from ipaddress import AddressValueError, IPv6Address

from lexfed.law.tagger.recognise.checksums import luhn
from lexfed.law.tagger.recognise.recogniser import Recogniser, cues, regex
from lexfed.law.tagger.words.normalisation import fold

_CALLING = re.compile(
    r"1|7|2[07]|3[0-4]|36|39|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|"
    r"2(?:1[1-8]|[2346]\d|5[0-8]|9[01789])|3(?:[57]\d|8[0-35-79])|42[013]|"
    r"5(?:0\d|9\d)|6(?:[78]\d|9[0-2])|8(?:00|08|5[02356]|70|8[068])|"
    r"9(?:6[0-8]|7[0-79]|9[2-689])"
)
"""Country codes of the telephone network [ITU-T E.164]."""
_PHONE_WORDS = cues(
    "phone telephone tel telefon telefono telefone telefoon mobile mobil handy movil "
    "celular cell fax portable gsm msisdn fono"
)


def international(number: str) -> bool:
    """Check an international number: a country's code and at most 15 digits."""
    digits = re.sub(r"\D", "", number)
    digits = digits[2:] if number.startswith("00") else digits
    return 8 <= len(digits) <= 15 and _CALLING.match(digits) is not None


def some_digits(number: str) -> bool:
    """Check that a number has as many digits as a national number can have."""
    return 7 <= sum(sign.isdigit() for sign in number) <= 12


def full_digits(number: str) -> bool:
    """Check that a number has the digits of a full number, area included."""
    return 9 <= sum(sign.isdigit() for sign in number) <= 16


_NATIONAL = (
    r"(?:\+?1[ .-]?)?\(?[2-9]\d\d\)?[ .-]\d{3}[ .-]\d{4}(?: ?(?:x|ext\.?) ?\d{1,6})?|"
    r"0[1-9](?:[ .-]\d\d){4}|"  # France
    r"0\d{2,4}[ /-]{1,3}\d{2,4}(?:[ -]?\d{2,4}){0,3}|"  # Germany and others
    r"\(0?\d{2,5}\) ?\d{3,5}[ -]?\d{3,5}|"
    r"0\d{2,4} \d{3} ?\d{3,4}|"  # United Kingdom
    r"[6-9]\d{2}(?:[ .-]\d{2}){3}|[6-9]\d{2}([ .-])\d{3}\1\d{3}"  # Spain
)

# Words for streets, abbreviations too; folded. A number must stand beside them.
_STREET_WORDS = cues(
    "street st avenue ave av road rd lane ln drive dr boulevard blvd bd court ct "
    "place pl square sq terrace ter way parkway pkwy highway hwy circle cir trail trl "
    "crescent cres close row mews quay alley crossing extension gateway grove heights "
    "junction knoll landing loop manor meadow mill mission orchard overpass park pass "
    "path plaza point port promenade ramp ranch rapids rest ridge route run shoal "
    "shore spring spur station stravenue stream summit track trace trafficway trailer "
    "tunnel turnpike underpass union valley viaduct view village ville vista walk "
    "wall wharf bay bayou beach bend bluff bottom branch bridge brook burg bypass "
    "camp canyon cape causeway center centre club common corner course cove creek "
    "crest dale dam divide estate expressway fall falls ferry field fields flat ford "
    "forest forge fork fort freeway frontage garden gardens glen green harbor haven "
    "hill hills hollow inlet island isle key lake light lock lodge mall motorway "
    "mount mountain neck oval parade pike pine plain prairie skyway throughway "
    "strasse str weg allee platz gasse ring damm ufer chaussee steig stieg pfad rue "
    "chemin impasse quai cours allees voie faubourg sentier calle avenida avda paseo "
    "carretera camino ronda travesia c/ cra carrera rua travessa praca alameda "
    "estrada rodovia largo beco via viale piazza corso vicolo strada lungomare straat "
    "laan plein gracht kade dreef singel hof steeg ulica ul al gata gatan vagen vej "
    "veien gate katu tie"
)
_STREET_ENDS = re.compile(
    r"\w{3,}(?:strasse|str|weg|allee|platz|gasse|ring|damm|ufer|straat|laan|plein|"
    r"gracht|kade|singel|dreef|gatan|vagen|veien|vej|gata|katu|tie)\.?"
)
_NUMBERED = re.compile(
    r"(?:\d{1,5}[a-z]?(?:[-/]\d{1,4})?|n[°º.]? ?\d{1,5})[ ,]+\D.{3,}|"
    r"\D{4,}[ ,]+(?:n[°º.]? ?)?\d{1,5} ?[a-z]?(?:[-/ ]\d{0,4}[a-z]?)?(?:[ ,].*)?"
)


def street(value: str) -> bool:
    """Return True if a text is a street with a number, in one of eight languages."""
    text = fold(value)
    if not _NUMBERED.fullmatch(text) or len(text) > 150:
        return False
    found = re.findall(r"[^\W\d_]+/?", text)
    return len(found) <= 14 and any(
        word in _STREET_WORDS or _STREET_ENDS.fullmatch(word) for word in found
    )


REACH = (
    Recogniser("e-mail addresses",
               re.compile(r"(?:mailto:)?[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[\w-]{1,63}\.)+"
                          r"[A-Za-z]{2,24}"), "contact", 6.0, share=0.8, chance=0.001,
               context=cues("email mail correo courriel")),
    Recogniser("international telephone numbers",
               regex(r"(?:\+|00)[ .]?[1-9][\d ().\-/]{6,22}"), "contact", 4.5,
               international, chance=0.02, share=0.7, context=_PHONE_WORDS),
    Recogniser("telephone numbers by their grouping", regex(_NATIONAL), "contact", 3.5,
               full_digits, chance=0.05, share=0.7, context=_PHONE_WORDS),
    Recogniser("telephone numbers", regex(r"\+?[\d ().\-/]{7,20}"), "contact", 3.5,
               some_digits, share=0.7, context=_PHONE_WORDS, needs=True),
    Recogniser("street addresses", re.compile(r"(?=.*\d)(?=.*[^\W\d_]{2}).{6,150}"),
               "contact", 4.0, street, share=0.5, chance=0.05, raw=True,
               context=cues("address street adresse anschrift strasse direccion "
                            "domicilio endereco morada logradouro indirizzo adres "
                            "straat calle")),
)  # fmt: skip

_POST_WORDS = cues(
    "zip zipcode postcode postal plz postleitzahl cp codigo cep cap postleit "
    "codepostal postnummer psc"
)
POSTCODES = (
    Recogniser("British postcodes",
               regex(r"[A-PR-UWYZ](?:\d{1,2}|[A-HK-Y]\d\d?|\d[A-Z]|[A-HK-Y]\d[A-Z])"
                     r" ?\d[ABD-HJLNP-UW-Z]{2}", re.IGNORECASE),
               "location", 3.5, chance=0.02, context=_POST_WORDS),
    Recogniser("Canadian postcodes",
               regex(r"[ABCEGHJ-NPRSTVXY]\d[A-Z] ?\d[A-Z]\d", re.IGNORECASE),
               "location", 3.5, chance=0.02, context=_POST_WORDS),
    Recogniser("Dutch postcodes", regex(r"[1-9]\d{3} ?[A-Z]{2}"), "location", 3.0,
               chance=0.05, context=_POST_WORDS),
    Recogniser("postcodes of nine digits or with a hyphen",
               regex(r"\d{5}-\d{3,4}|\d{4}-\d{3}|\d{3} \d{2}|\d{2}-\d{3}"), "location",
               1.5, chance=0.05, context=_POST_WORDS, share=0.8),
    Recogniser("postcodes", regex(r"(?:[A-Z]{1,2}-?)?\d{3,6}(?:-\d{3,4})?"), "location",
               3.0, context=_POST_WORDS, needs=True),
)  # fmt: skip


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
