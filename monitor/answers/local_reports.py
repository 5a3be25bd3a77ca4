"""Reports under local differential privacy: each person's value is randomised at home, and the server counts.

A file of reports has one on each line: in `.jsonl` as JSON, in `.csv` as fields, without a heading. What a report is
depends on the oracle: a value of the domain (GRR), zeros and ones in its order (SUE, OUE, THE), numbers in its order
(SHE), two numbers of a hash function and a bucket (BLH, OLH), a row and a bit (HR).
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from checks import did_you_mean
from monitor.terminal.redaction import json_text
from monitor.terminal.spreadsheet import escape_text, originals
from remedies import Misfit
from remedies.differential_privacy import Oracle, choose_oracle, oracles
from remedies.differential_privacy.domain import CategoryDomain
from remedies.differential_privacy.epsilon import Loss
from remedies.differential_privacy.random_bytes import random_order
from remedies.generalisation import text_of

if TYPE_CHECKING:
    from remedies.differential_privacy.answers import SteppedColumn
    from remedies.differential_privacy.frequency_oracles.choices import Codes

_NAME: Final = "value"
ENDS: Final = (".jsonl", ".csv")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Respondents:
    """What a person could have: the values of a domain, or the numbers 0 to `size` - 1 where there is none."""

    size: int
    domain: CategoryDomain | None = None

    @classmethod
    def of(cls, declared: "SteppedColumn | Sequence[object]", other: str | None = None) -> "Respondents":
        """Return a declared domain; `other`: the value that all others are taken for.

        Raises:
            Misfit: it does not have that value.
        """
        others = {} if other is None else {_NAME: other}
        domain = CategoryDomain.read(_NAME, declared, others)
        return cls(domain.size, domain)

    def codes(self, texts: Iterable[str | None]) -> "Codes":
        """Return the place of each value in the domain; -1 where it has none."""
        return np.fromiter((self._code(text) for text in texts), dtype=np.int64)

    def label(self, code: int) -> Any:
        """Return the value at a place."""
        return code if self.domain is None else self.domain.declared[code]

    def oracle(self, name: str | None, epsilon: Loss) -> Oracle:
        """Return the oracle of that name, or the one that varies least.

        Raises:
            Misfit: there is none of that name, or the domain or epsilon makes no sense.
        """
        if name is None:
            return choose_oracle(self.size, epsilon)
        if name.upper() not in oracles:
            near = did_you_mean(name.upper(), oracles)
            raise Misfit(f"no oracle '{name}'{near}; available: {', '.join(oracles)}")
        return oracles[name.upper()](self.size, epsilon)

    def perturb(self, oracle: Oracle, texts: Sequence[str]) -> list[Any]:
        """Return a report for each value, as plain data.

        Raises:
            Misfit: some are outside the domain (counted, never shown).
        """
        codes = self.codes(texts)
        other = -1 if self.domain is None or self.domain.other is None else self.domain.other
        reports = oracle.perturb_many(np.where(codes < 0, other, codes))
        if oracle.name == "GRR":
            return [self.label(code) for code in reports.tolist()]
        plain: list[Any] = reports.astype(np.int64).tolist()
        return plain

    def _code(self, text: str | None) -> int:
        if self.domain is not None:
            return self.domain.place(text)
        if text is None or not _NUMBER.fullmatch(text):
            return -1
        return int(text) if int(text) < self.size else -1


def written(reports: Sequence[Any], end: str) -> str:
    """Write reports for a file that ends so; in CSV, no value of a domain is one that a spreadsheet runs.

    Raises:
        Stop: two values of the domain would be one text in a CSV file.
    """
    if end == ".csv":
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        originals({report for report in reports if isinstance(report, str)}, column=_NAME)
        rows.writerows(report if isinstance(report, list) else [_cell(report)] for report in reports)
        return text.getvalue()
    return "".join(f"{json_text(report, indent=None)}\n" for report in reports)


def _cell(report: Any) -> Any:
    return escape_text(report) if isinstance(report, str) else report


def in_random_order(reports: Sequence[Any]) -> list[Any]:
    """Return the reports in random order: in a sorted file, the place of a report tells the value behind it."""
    return [reports[place] for place in random_order(len(reports))]  # randomness: order


def read_reports(text: str, end: str, people: Respondents, oracle: Oracle) -> Any:
    """Read reports from a file that ends so, as the oracle takes them.

    Raises:
        Misfit: a line is no report, or not of this oracle.
    """
    read = _fields(text, oracle) if end == ".csv" else _lines(text)
    if oracle.name == "GRR":
        escaped = {} if people.domain is None or end != ".csv" else _escaped(people.domain)
        return people.codes(escaped.get(item, item) for item in map(text_of, read))
    if any(not isinstance(item, list) or any(type(part) is not int for part in item) for item in read):
        raise Misfit(f"the file has lines that are not lists of integers, as reports of {oracle.name} are")
    return read


def _escaped(domain: CategoryDomain) -> Mapping[str | None, str]:
    """Return, by text in a CSV file, the value of a domain that it stands for, where they differ."""
    return dict(originals(map(text_of, domain.declared), column=_NAME).items())


def end_of(path: Path) -> str:
    """Return the form of a file of reports by its end.

    Raises:
        Misfit: it has another one.
    """
    if path.suffix not in ENDS:
        raise Misfit(f"'{path}' is neither a .jsonl nor a .csv file")
    return path.suffix


def _lines(text: str) -> list[Any]:
    results = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            results.append(json.loads(line))
        except (ValueError, RecursionError):
            raise Misfit(f"line {number} is not JSON; expected one report per line") from None
    return results


def _fields(text: str, oracle: Oracle) -> list[Any]:
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    except csv.Error:
        raise Misfit("the file is not CSV; expected one report per line") from None
    if oracle.name != "GRR":
        return [[int(part) if _WHOLE.fullmatch(part) else part for part in row] for row in rows]
    if any(len(row) > 1 for row in rows):
        raise Misfit("the file has lines of several fields; a report of GRR is one value of the domain")
    return [row[0] for row in rows]


def compared(people: Respondents, epsilon: Loss, users: int) -> list[dict[str, Any]]:
    """Return the variance and the report format of each oracle, the lowest variance first.

    `variance`: of the count of a rare value, for each person who reports. `standard_error`: of that count.

    Raises:
        Misfit: the domain or epsilon makes no sense.
    """
    reporters = [kind(people.size, epsilon) for kind in oracles.values()]
    rows = [
        {
            "oracle": item.name,
            "variance": item.variance(),
            "standard_error": item.variance(users) ** 0.5,
            "report": _REPORTS[item.name].format(d=f"{people.size:,}"),
        }
        for item in reporters
    ]
    return sorted(rows, key=lambda row: float(str(row["variance"])))


_REPORTS: Final = {
    "GRR": "a value",
    "SUE": "{d} bits",
    "OUE": "{d} bits",
    "THE": "{d} bits",
    "SHE": "{d} numbers",
    "BLH": "3 numbers",
    "OLH": "3 numbers",
    "HR": "2 numbers",
}
