"""Names of months and halves of days, as Java's locales have them."""

from __future__ import annotations

import re

# Short and long names begin alike, those of English are read elsewhere: Java's locales (CLDR) for German, French, Spanish, Portuguese,
# Italian, Dutch, Polish, Turkish, Czech and Russian.
_BEGINNINGS: tuple[tuple[str, ...], ...] = (
    ("januar", "jän", "jan", "janv", "ene", "gen", "sty", "oca", "led", "янв"),
    ("febr", "fév", "feb", "fev", "lut", "şub", "úno", "фев"),
    ("märz", "mär", "mar", "mrt", "maart", "bře", "мар"),
    ("april", "avr", "abr", "apr", "kwi", "nis", "dub", "апр"),
    ("mai", "may", "mag", "mei", "maj", "kvě", "мая", "май"),
    ("juni", "juin", "jun", "giu", "cze", "haz", "čvn", "июн"),
    ("juli", "juil", "jul", "lug", "lip", "tem", "čvc", "июл"),
    ("august", "août", "ago", "aug", "sie", "ağu", "srp", "авг"),
    ("sept", "sep", "set", "wrz", "eyl", "zář", "сен"),
    ("okt", "oct", "out", "ott", "paź", "eki", "říj", "окт"),
    ("nov", "lis", "kas", "нояб", "ноя"),
    ("dez", "déc", "dic", "dec", "gru", "ara", "pro", "дек"),
)
_NUMBERS = {beginning: number for number, names in enumerate(_BEGINNINGS, start=1) for beginning in names}
_LONGEST_FIRST = sorted(_NUMBERS, key=lambda name: (-len(name), name))
MONTH_NAME = rf"(?P<local>(?:{'|'.join(_LONGEST_FIRST)})[a-zà-žа-я]{{0,8}}|1?\d(?=[月월]))[.月월]?"
"""A month by its name, or by its number as in Chinese."""

HALF_OF_DAY = r"(?: ?(?P<half>[ap]\.?[ \u00a0\u202f]?m\b\.?|vorm\b\.?|nachm\b\.?|上午|下午|午前|午後|오전|오후|öö|ös|dop\b\.?|odp\b\.?))?"
_AFTERNOON = re.compile(r"p|nachm|下午|午後|오후|ös|odp", re.IGNORECASE)


def month_number(name: str) -> int:
    """The number of a month with this name."""
    low = name.lower()
    return int(low) if low.isdecimal() else next(_NUMBERS[name] for name in _LONGEST_FIRST if low.startswith(name))


def is_afternoon(half: str) -> bool:
    """Return True for the names of the second half of the day."""
    return _AFTERNOON.match(half) is not None
