"""What each key of a hierarchy changes: the levels that are built of a few values."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from remedies import Misfit
from remedies.generalisation.spec import SPECS, hierarchy_spec
from tests.monitor.config.effects.effect import ABSENT, Effect

NUMBERS: Final = tuple(range(1, 60, 7))
DATES: Final = ("2026-01-05", "2026-02-11", "2027-03-01")
CODES: Final = ("10115", "10117", "20095")
FILES: Final = {"a.csv": "x;low;*\ny;high;*\n", "b.csv": "x;all;*\ny;all;*\n", "c.csv": "x;1|*\ny;2|*\n"}


def _levels(values: tuple[object, ...], declared: Mapping[str, Any]) -> object:
    return hierarchy_spec(dict(declared)).build(values).levels


def _levels_of_file(declared: Mapping[str, Any]) -> object:
    with TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            return hierarchy_spec(dict(declared)).beside(Path(folder)).build(("x", "y")).levels
        except Misfit:
            return "the values have no line"


_TEN: Final = {"widths": [10]}
_TABLE: Final[Mapping[str, tuple[tuple[object, ...], Mapping[str, tuple[Mapping[str, Any], Any, Any]]]]] = {
    "intervals": (NUMBERS, {
        "widths": ({}, [10], [20]),
        "breaks": ({}, [[10, 30]], [[20]]),
        "origin": (_TEN, 0, 5),
        "snap": (_TEN, ABSENT, [10, 40]),
        "top": (_TEN, ABSENT, 40),
        "bottom": (_TEN, ABSENT, 20),
        "root": (_TEN, "*", "any"),
    }),
    "bins": (NUMBERS, {
        "levels": ({}, [[[0, 30], [30, None]]], [{"few": [0, 20], "many": [20, None]}]),
        "root": ({"levels": [[[0, 30], [30, None]]]}, "*", "any"),
    }),
    "dates": (DATES, {
        "levels": ({}, ["month"], ["year"]),
        "pattern": ({"levels": ["month"]}, "%Y-%m-%d", "%Y-%d-%m"),
        "root": ({"levels": ["year"]}, "*", "any"),
    }),
    "mask": (CODES, {
        "hide": ({}, [1, 3], [2]),
        "keep": ({}, [3], [1]),
        "character": ({"hide": [1]}, "*", "#"),
        "length": ({"hide": [2]}, ABSENT, 7),
        "side": ({"hide": [1]}, "right", "left"),
        "root": ({"hide": [1]}, "*", "any"),
    }),
    "tree": (("x", "y", "z"), {
        "groups": ({}, {"a": ["x", "y"], "b": ["z"]}, {"a": ["x"], "b": ["y", "z"]}),
        "root": ({"groups": {"a": ["x", "y"], "b": ["z"]}}, "*", "any"),
    }),
    "coding": (NUMBERS, {
        "top": ({}, 30, 40),
        "bottom": ({}, 20, 30),
        "root": ({"top": 30}, "*", "any"),
    }),
    "flat": (CODES, {"root": ({}, "*", "any")}),
}  # fmt: skip
"""Type: (values of the column, key: (the other keys, a value, another value))."""


def entries() -> Iterator[Effect]:
    """Yield an entry for each key of each hierarchy."""
    for kind, (values, keys) in _TABLE.items():
        for key, (rest, first, second) in keys.items():

            def observe(declared: Mapping[str, Any], values: tuple[object, ...] = values) -> object:
                return _levels(values, declared)

            yield Effect(f"{SPECS[kind].__name__}.{key}", {"type": kind, **rest}, (first, second), observe)
    yield Effect("FileSpec.path", {"type": "file"}, ("a.csv", "b.csv"), _levels_of_file)
    yield Effect("FileSpec.delimiter", {"type": "file", "path": "c.csv"}, (";", "|"), _levels_of_file)
