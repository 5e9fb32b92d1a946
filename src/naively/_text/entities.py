"""Links, addresses, amounts of money and numbers as tokens of their own, in place of the pieces that they fall into.

They are marked in the text before it is read: each becomes a word that no other text has by chance, with underscores at
both ends, and links and addresses also tell their host. What is marked reads as itself when it is marked again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

CURRENCIES = "$¢-¥֏؋৲৳৻૱௹฿៛\u20a0-\u20c0\ufdfc\ufe69\uff04\uffe0\uffe1\uffe5\uffe6"
"""Currency signs, as a set of a regular expression."""

CODES = "usd|eur|gbp|chf|jpy|cny|inr|aud|cad|dollars?|euros?|pounds?|cents?"
AMOUNT = r"\d+(?:[.,'\u2019]\d+)*"
LARGE = r"(?:\s?(?:k|m|bn|million|billion)\b)?"
HOST = r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)+"

PATTERNS = {
    "urls": rf"(?:(?:https?|ftp)://(?:[^\s/@]*@)?|(?<![\w@.-])(?=www\.|{HOST}/))"
    rf"(?P<host>{HOST})(?::\d+)?(?:[/?#][^\s<>\"]*)?",
    "emails": rf"(?<![\w.+-])[\w.+-]+@(?P<domain>{HOST})",
    "money": rf"(?P<money>(?:[{CURRENCIES}]\s?|\b(?:{CODES})\s){AMOUNT}{LARGE}|"
    rf"(?<![\w.,]){AMOUNT}{LARGE}\s?(?:[{CURRENCIES}]|(?:{CODES})\b))",
    "numbers": rf"(?P<number>(?<![\w.,'\u2019]){AMOUNT}(?![\w]))",
}
ENTITIES = tuple(PATTERNS)
"""What can be asked for, in the order in which it is looked for."""


def marked(text: str, kinds: Sequence[str]) -> str:
    """The text with these kinds of things as single words.

    Examples
    --------
    >>> marked("Win $1,000.00 now: http://spam.ru/x?y=1 or mail me@example.com, 24 hours", ENTITIES)
    'Win  _money_  now:  _url_ spam_ru  or mail  _email_ example_com ,  _number_  hours'
    >>> marked("3rd place, 3.5 points", ("numbers",))
    '3rd place,  _number_  points'
    """
    return _pattern(tuple(kinds)).sub(_mark, text)


@lru_cache(maxsize=16)
def _pattern(kinds: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(PATTERNS[kind] for kind in ENTITIES if kind in kinds), re.IGNORECASE)


def _mark(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind in ("money", "number"):
        return f" _{kind}_ "
    assert kind is not None
    return f" {'_url_' if kind == 'host' else '_email_'} {re.sub('[.-]', '_', found[kind].lower())} "
