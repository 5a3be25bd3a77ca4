"""Render texts in the reader's language: texts from the catalogues of `templates/locale`, the rest by Babel.

English is the source language: a text without a translation is said in English. Catalogues are read from their `.po`
text, so that what a translator edits is what runs.
"""

import gettext
import importlib.resources
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any, Final
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError
from babel.dates import format_interval, format_skeleton
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_currency, format_decimal, format_percent, get_currency_precision

from checks import Message, nearest_ratio
from incidents import money

SOURCE_LANGUAGE: Final = "en"

# Unit names and the text between number and unit, and between the parts: Babel has no compound durations.
_UNITS: Final[Mapping[str, tuple[Mapping[str, str], str]]] = {
    "en": (
        {
            "d": "\N{NO-BREAK SPACE}d",
            "h": "\N{NO-BREAK SPACE}h",
            "min": "\N{NO-BREAK SPACE}min",
            "s": "\N{NO-BREAK SPACE}s",
        },
        " ",
    ),
    "ja": ({"d": "日", "h": "時間", "min": "分", "s": "秒"}, ""),
}
_BESIDE: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {"<": "<{}", ">": ">{}"},
    "ja": {"<": "{}未満", ">": "{}超"},
}
"""How a share is said that is less, or more, than what can be shown of it."""
_SECONDS: Final[Mapping[str, int]] = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount in a currency (ISO 4217); it is rounded when it is said."""

    amount: Fraction | Decimal
    currency: str

    @property
    def rounded(self) -> Decimal:
        """Return the amount with the currency's decimals: none for yen."""
        return money(Fraction(self.amount), get_currency_precision(self.currency))


class Localizer:
    """A localizer for one language and one time zone.

    Kinds of value, beside those of `checks`: `tenths` (a number with one decimal), `hours` (a length in hours and
    minutes, never days), `money` (a `Money`), `moment` (2026-11-11 10:10), `date` (11 Nov), `full_date` (with the
    year), `day` (with the weekday), `weekday`, `dates` (a pair of dates as an interval). Lengths of time are a
    timedelta or seconds; times are aware and shown in the localizer's zone.
    """

    def __init__(self, locale: str, timezone: str) -> None:
        """Speak a locale such as `ja` or `en` in an IANA zone.

        Raises:
            ValueError: no such locale.
        """
        try:
            self._locale = Locale.parse(locale)
        except (UnknownLocaleError, ValueError):
            raise ValueError(f"locale '{locale}' not found; write a language such as en or ja") from None
        self.language = self._locale.language
        self.zone = ZoneInfo(timezone)
        self._catalogue = catalogue(self.language)
        self._whole = lru_cache(_MOST_KEPT)(partial(format_decimal, locale=self._locale))
        self._date = lru_cache(_MOST_KEPT)(partial(format_skeleton, locale=self._locale))

    def text(self, text: str) -> str:
        """Return the translation of a text."""
        return self._catalogue.text(text)

    def plural(self, name: str, many: str, number: int) -> str:
        """Return the translation of the form that fits a number."""
        return self._catalogue.texts.ngettext(name, many, number)

    def format(self, value: Any, kind: str) -> str:  # noqa: PLR0911 - one line for each kind
        """Return a value of a kind as text; a kind unknown here leaves the value as it is."""
        match kind:
            case "count":
                return self._whole(int(value))
            case "number":
                return self._number(value)
            case "tenths":
                return format_decimal(float(value), format="#,##0.0", locale=self._locale)
            case "ratio":
                return self._ratio(value)
            case "duration":
                return self._length(value, ("d", "h", "min", "s"))
            case "hours":
                return self._length(value, ("h", "min", "s"))
            case "money":
                return format_currency(value.rounded, value.currency, locale=self._locale)
            case "time" | "moment" | "date" | "full_date" | "day" | "weekday" | "dates" | "month" | "short_month":
                return self._when(value, kind)
            case _:
                return value.render(self) if isinstance(value, Message) else str(value)

    def _number(self, value: Any) -> str:
        if isinstance(value, int):
            return self._whole(value, format="#,##0.######")
        if not isinstance(value, Decimal):
            return format_decimal(float(f"{float(value):.6g}"), format="#,##0.######", locale=self._locale)
        with localcontext(prec=_MOST_DIGITS):  # what a message says exactly; Python's own context has 28 digits
            return format_decimal(value, locale=self._locale, decimal_quantization=False)

    def _ratio(self, value: Any) -> str:
        sign, shown = nearest_ratio(value)
        pattern = "#,##0.0%" if abs(float(shown)) < 0.1 else "#,##0%"
        text = format_percent(float(shown), format=pattern, locale=self._locale)
        return _BESIDE.get(self.language, _BESIDE[SOURCE_LANGUAGE])[sign].format(text) if sign else text

    def _when(self, value: Any, kind: str) -> str:
        match value, kind:
            case (datetime() as moment, "time"):
                local = moment.astimezone(self.zone)
                pattern = self._locale.datetime_formats["medium"]
                day = self._date("MMMEd", local.date())
                return str(pattern).replace("{1}", day).replace("{0}", f"{local:%H:%M}")
            case (datetime() as moment, "moment"):
                return f"{moment.astimezone(self.zone):%Y-%m-%d %H:%M}"
            case (datetime() as moment, "full_date"):
                return self._when(moment.astimezone(self.zone).date(), kind)
            case ((date() as first, date() as last), "dates"):
                return format_interval(first, last, "yMMMd", locale=self._locale)
            case (date() as moment, _):
                skeleton = {
                    "date": "MMMd",
                    "day": "MMMEd",
                    "weekday": "E",
                    "month": "yMMMM",
                    "short_month": "MMM",
                }.get(kind, "yMMMd")
                return self._date(skeleton, moment)
            case _:
                return str(value)

    def _length(self, value: timedelta | Fraction | float, units: tuple[str, ...]) -> str:
        seconds = round(value.total_seconds() if isinstance(value, timedelta) else value)
        names, between = _UNITS.get(self.language, _UNITS[SOURCE_LANGUAGE])
        sign, rest = ("\N{MINUS SIGN}" if seconds < 0 else ""), abs(seconds)
        counts = []
        for unit in units:
            count, rest = divmod(rest, _SECONDS[unit])
            counts.append((count, names[unit]))
        first = next((place for place, (count, _) in enumerate(counts) if count), len(counts) - 2)
        parts = [f"{self._whole(count)}{name}" for count, name in counts[first : first + 2] if count]
        return sign + (between.join(parts) or f"0{names[units[-2]]}")


_MOST_DIGITS: Final = 200
"""Digits of the longest number that a message says."""
_MOST_KEPT: Final = 4096
"""Whole numbers and dates whose texts are kept: a page shows the same ones again and again."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The texts of one language. `singulars` gives for the form that counts many the one that names it in gettext."""

    texts: gettext.NullTranslations
    singulars: Mapping[str, str]

    def text(self, text: str) -> str:
        """Return the translation of a text; also of one form of a text that counts, as an incident's title keeps it."""
        if text in self.singulars:
            return self.texts.ngettext(self.singulars[text], text, 2)
        return self.texts.gettext(text) if text else text  # gettext's empty text is the catalogue's own header


@cache
def catalogue(language: str) -> Catalogue:
    """Return the catalogue of a language; of English, and where there is none, one that gives every text back."""
    source = importlib.resources.files("templates") / "locale" / language / "LC_MESSAGES" / "tablewatch.po"
    if language == SOURCE_LANGUAGE or not source.is_file():
        return Catalogue(gettext.NullTranslations(), {})
    read = read_po(io.BytesIO(source.read_bytes()), locale=language)
    compiled = io.BytesIO()
    write_mo(compiled, read)
    compiled.seek(0)
    counting = [message.id for message in read if message.pluralizable]
    return Catalogue(gettext.GNUTranslations(compiled), {forms[1]: forms[0] for forms in counting})
