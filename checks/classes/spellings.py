"""Spellings that a reader takes for the same value."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

_DECIMAL: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")


def normal_form(text: str) -> str:
    """Return one spelling for all that a reader takes for the same.

    NFKC (full-width letters, ligatures, composed accents), case folding (Unicode standard, 3.13, caseless matching),
    no white space around, and one form for a decimal number: `1.0`, `1.00` and `1e0` are `1`. A number with leading
    zeros is a code, and stays as it is.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip()
    if _DECIMAL.fullmatch(folded):
        number = float(folded)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return folded


def merged_spellings(values: Iterable[str]) -> Mapping[str, str]:
    """Return, for each value that is another spelling of one that came before it, the one to write instead.

    Values with one spelling are not in it.
    """
    first: dict[str, str] = {}
    merged: dict[str, str] = {}
    for value in values:
        earlier = first.setdefault(normal_form(value), value)
        if earlier != value:
            merged[value] = earlier
    return merged
