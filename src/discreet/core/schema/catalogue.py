"""Common kinds of columns, with bounds from public sources. They are offered by name, never applied silently.

A column is recognised by its name alone, so an offer can be wrong: "age" may be the age of a building. A draft shows it
in a comment only.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COUNTRIES = (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA "
    "CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA "
    "GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP "
    "KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS "
    "MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS "
    "RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW "
    "TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)
_CHAPTERS = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI XXII"


@dataclass(frozen=True)
class KnownKind:
    """The usual meaning of a column name: a pattern of names, a declaration, and the source of its bounds."""

    names: str
    declared: Mapping[str, Any]
    source: str


def _whole(low: int, high: int, **more: Any) -> dict[str, Any]:
    return {"kind": "integer", "bounds": [low, high], **more}


_QUASI = {"role": "quasi-identifier"}
KINDS = (
    KnownKind(r"age|alter|(age|alter)_(years|jahre)|edad|(age_)?years_old", _whole(0, 125, **_QUASI),
              "years of age; the longest verified life lasted 122 years"),
    KnownKind(r"(birth_?year|year_of_birth|geburtsjahr|yob|annee_(de_)?naissance)", _whole(1900, 2100, **_QUASI),
              "years, Gregorian calendar"),
    KnownKind(r"(date_of_birth|birth_?date|dob|geburtsdatum|birthday|date_(de_)?naissance)",
              {"bounds": ["1900-01-01", "2100-12-31"], **_QUASI}, "days, Gregorian calendar"),
    KnownKind(r"year|jahr|annee", _whole(1900, 2100), "years, Gregorian calendar"),
    KnownKind(r"month|monat|mois", _whole(1, 12), "months of a year"),
    KnownKind(r"day|tag|day_of_month|jour", _whole(1, 31), "days of a month"),
    KnownKind(r"week(_of_year)?|kw|kalenderwoche", _whole(1, 53), "weeks of a year by ISO 8601"),
    KnownKind(r"week_?day|wochentag|day_of_week|dow", _whole(1, 7), "days of a week, Monday 1, by ISO 8601"),
    KnownKind(r"quarter|quartal", _whole(1, 4), "quarters of a year"),
    KnownKind(r"hour|stunde|hour_of_day|heure", _whole(0, 23), "hours of a day"),
    KnownKind(r"minute", _whole(0, 59), "minutes of an hour"),
    KnownKind(r"hours_per_week|wochenstunden|hours_worked", _whole(0, 168), "a week has 168 hours"),
    KnownKind(r"lat|latitude|breite(ngrad)?", {"bounds": [-90, 90], **_QUASI}, "degrees of latitude"),
    KnownKind(r"lon|lng|long|longitude|l(ae|ä)nge(ngrad)?", {"bounds": [-180, 180], **_QUASI}, "degrees of longitude"),
    KnownKind(r"(.+_)?(percent|percentage|pct|prozent)", {"bounds": [0, 100]}, "per cent of a whole"),
    KnownKind(r"(.+_)?(share|fraction|ratio|anteil)", {"bounds": [0, 1]}, "parts of a whole"),
    KnownKind(r"(body_)?height(_cm)?|k(oe|ö)rpergr(oe|ö)(ss|ß)e", {"bounds": [20, 272]},
              "centimetres; the tallest person on record measured 272"),
    KnownKind(r"[pfd]weight|anweight|pspwght|(survey|sampling|design|final|calibrated)_?(weight|wgt|wt)|wgt\w*|wt(s|_\w+)?|"
              r"p?hrf|hochrechnungsfaktor|ponderation", {"role": "weight"},
              "how many people a row stands for; declare bounds with its largest value"),
    KnownKind(r"(hh|household|haushalts?|menage)_?(id|no|nr|number|nummer)?", {"role": "identifier"},
              "names a household; never released; can be the unit"),
    KnownKind(r"(body_)?weight(_kg)?|k(oe|ö)rpergewicht|gewicht", {"bounds": [0, 635]},
              "kilograms of a person; the heaviest on record weighed about 635"),
    KnownKind(r"heart_?rate|pulse?|puls", _whole(0, 400), "beats per minute; above any rate described in adults"),
    KnownKind(r"ph(_value|_wert)?", {"bounds": [0, 14]}, "the usual scale of pH"),
    KnownKind(r"country(_code)?|land|iso_?country|nationality", {"categories": _COUNTRIES.split(), **_QUASI},
              "two letters by ISO 3166-1"),
    KnownKind(r"icd(_?10)?_chapter|icd_kapitel", {"categories": _CHAPTERS.split(), "role": "sensitive"},
              "chapters of ICD-10, World Health Organization"),
    KnownKind(r"(blood_?(type|group)|blutgruppe)", {"categories": ["O", "A", "B", "AB"], "role": "sensitive"},
              "groups of the ABO system"),
    KnownKind(r"apgar(_score)?", _whole(0, 10), "the score of V. Apgar, 1953"),
    KnownKind(r"(sur|last_?|first_?|full_?|user_?)?name|nachname|vorname|e?_?mail(_address)?|phone(_number)?|telefon|ssn|"
              r"iban|passport(_no|_number)?|street|strasse|address|anschrift", {"role": "identifier"},
              "names somebody; never released"),
    KnownKind(r"(user|person|patient|customer|client|subject|member|student|employee|kunden?|patienten)_?(id|no|nr|number|nummer)?|"
              r"pid|uid", {"role": "person"}, "says whose row it is; never released"),
    KnownKind(r"(post|zip)_?(code)?|plz|postleitzahl|code_postal", _whole(0, 99999, **_QUASI),
              "five digits, as in Germany, France, Spain, Italy and the United States"),
)  # fmt: skip


def known_kind(name: str) -> KnownKind | None:
    """Return the usual meaning of a column name; None if unknown."""
    plain = re.sub(r"[^\w]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())).strip("_").casefold()
    return next((kind for kind in KINDS if re.fullmatch(kind.names, plain)), None)
