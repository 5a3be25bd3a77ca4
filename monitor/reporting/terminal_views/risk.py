"""Print the re-identification risk of records: the verdict first, then the figures."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from checks import PlainEnglish, Status
from checks.risk.sizes import STEPS
from monitor.releases.disclosure.assessment import RiskAssessment
from monitor.scan.results import CheckResult
from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table

_VERDICTS: Final = {
    Status.FAIL: ("AT RISK", "bold red"),
    Status.UNKNOWN: ("UNKNOWN", "magenta"),
    Status.WARN: ("WITHIN LIMITS, BUT", "yellow"),
    Status.PASS: ("WITHIN LIMITS", "green"),
}
_BAR: Final = 30
_SAY: Final = PlainEnglish()
_NOT_MEASURED: Final = (
    "Not measured: columns that were not named, attribute disclosure without re-identification,\n"
    "other tables about the same people. Within limits is not proof of anonymity."
)


def draw_assessment(console: Console, risk_assessment: RiskAssessment) -> None:
    """Print an assessment."""
    worst = risk_assessment.results[0]
    _lead(console, risk_assessment.name, worst)
    console.print(Text(f"quasi-identifiers: {visible(', '.join(risk_assessment.question.quasi_identifiers))}", "dim"))
    for result in risk_assessment.results:
        draw = _PARTS.get(result.check.type)
        if draw is not None and result.outcome.status is not Status.UNKNOWN:
            console.print()
            draw(console, result)
        elif result is not worst:
            console.print(f"\n{result.check.type.replace('_', '-')}: {visible(str(result.outcome.message))}")
    special: Any = risk_assessment.special_as_json()
    if special is not None:
        console.print()
        _draw_special(console, special)
    console.print()
    console.print(Text(_NOT_MEASURED, "dim"))


def _draw_special(console: Console, special: Mapping[str, Any], *, most: int = 10) -> None:
    """Print how many records are unique in few columns and in no part of them, and by which columns."""
    if "problem" in special:
        console.print(f"special uniques: {visible(special['problem'])}")
        return
    few = f"fewer than {special['hidden_below']}"
    title = f"special uniques: unique in up to {special['known']} columns, and in none of a part of these (SUDA)"
    console.print(Text(title, "bold"))
    shown = [(entry["columns"], few if entry["count"] is None else _count(entry["count"])) for entry in special["sets"]]
    sizes = [(item["columns"], few if item["count"] is None else _count(item["count"])) for item in special["by_size"]]
    draw_table(console, (">columns", ">records"), [(str(size), count) for size, count in sizes])
    if not shown:
        return
    console.print()
    draw_table(
        console, ("~unique in", ">records"), [(visible(", ".join(names)), count) for names, count in shown[:most]]
    )
    if len(shown) > most:
        console.print(f"and {len(shown) - most} more sets; --format json has them")
    console.print()
    shares = sorted(special["contribution"].items(), key=lambda item: -(item[1] or 0))
    draw_table(
        console, ("~column", ">in this share of the score"), [(visible(name), _ratio(share)) for name, share in shares]
    )


def draw_sets(console: Console, result: CheckResult, *, most: int = 20) -> None:
    """Print which sets of columns tell how many records apart."""
    figures: Mapping[str, Any] = result.outcome.observed
    sets, rows = figures["sets"], figures["rows"]
    expected: Mapping[str, Any] = result.outcome.expected
    if expected["max_unique_fraction"] < 1:
        _lead(console, result.table, result)
    else:  # without a limit there is no verdict
        console.print(visible(f"{result.table}: {result.outcome.message}"), style="bold")
    lines = [
        (
            visible(", ".join(item["columns"])),
            _count(item["uniques"]),
            _share(item["uniques"], rows),
            _ratio(item["distinction"]),
            _ratio(item["separation"]),
        )
        for item in sets[:most]
    ]
    draw_table(console, ("~known", ">unique", ">of all", ">distinct per row", ">pairs distinguished"), lines)
    if len(sets) > most:
        console.print(f"and {len(sets) - most} more; --format json has them")


def draw_linkage(console: Console, result: CheckResult) -> None:
    """Print how many records another table finds."""
    _lead(console, result.table, result)
    _draw_figures(console, result.outcome.observed)


def draw_columns(console: Console, name: str, columns: Sequence[Mapping[str, Any]]) -> None:
    """Print what each column may be."""
    console.print(f"{visible(name)}: suggested by values and names; decide yourself which columns an attacker may know")
    rows = [
        (
            visible(column["column"]),
            column["suggestion"],
            _count(column["values"]) if column["values"] is not None else None,
            _ratio(column.get("distinction")),
            _ratio(column.get("separation")),
            column["why"],
        )
        for column in columns
    ]
    heads = ("~column", "may be", ">values", ">distinct per row", ">pairs distinguished", "~why")
    draw_table(console, heads, rows)


def _draw_k(console: Console, check_result: CheckResult) -> None:
    figures: Mapping[str, Any] = check_result.outcome.observed
    k = check_result.outcome.expected["k"]
    people = figures.get("people")
    rows, what = (figures["rows"], "records") if people is None else (people, "people")
    console.print(Text(f"k-anonymity: k = {figures['k']}, required: at least {k}", "bold"))
    lines = [
        *([] if people is None else [("rows", _count(figures["rows"]), None)]),
        (what, _count(rows), None),
        ("equivalence classes", _count(figures["classes"]), None),
        (f"unique {what}", _count(figures["sample_uniques"]), _share(figures["sample_uniques"], rows)),
        (f"{what} in classes below {k}", _count(figures["records_below_k"]), _share(figures["records_below_k"], rows)),
        ("highest risk of a record", None, _ratio(figures["highest_risk"])),
        ("average risk (prosecutor, marketer)", None, _ratio(figures["average_risk"])),
    ]
    if figures["journalist_highest_risk"] is not None:
        at_risk = figures["journalist_records_at_risk"]
        lines += [
            (f"records with fewer than {k} in the population", _count(at_risk), _share(at_risk, rows)),
            ("highest risk among the population (journalist)", None, _ratio(figures["journalist_highest_risk"])),
            ("average risk among the population (journalist)", None, _ratio(figures["journalist_average_risk"])),
        ]
    draw_table(console, ("", ">number", ">share"), lines)
    for line in _other_k(figures):
        console.print(line)
    if figures["continuous"] and check_result.outcome.status is not Status.WARN:  # a warning says it already
        columns = visible(", ".join(figures["continuous"]))
        console.print(f"floating-point columns, grouped by exact equality: {columns}")
    console.print()
    draw_table(console, (">group of", ">groups", f">{what}", ""), _bars(figures["histogram"], rows))
    if figures["damage"]:
        console.print()
        damage = sorted(figures["damage"].items(), key=lambda item: -item[1])
        safe = [(visible(column), _count(records)) for column, records in damage]
        draw_table(console, ("~if unknown to attackers", f">{what} made safe"), safe)


def _other_k(figures: Mapping[str, Any]) -> Iterator[str]:
    if figures["k_wildcard"] not in {None, figures["k"]}:
        yield f"with NULL as a wildcard, k is {figures['k_wildcard']}; informational"
    if figures["k_normalised"] not in {None, figures["k"]}:
        yield f"with normalised spelling, k is {figures['k_normalised']}; informational"


def _bars(histogram: Sequence[Sequence[int]], rows: int) -> Iterator[tuple[str, str, str, str]]:
    ends = pairwise(STEPS)
    spans = {first: f"{first:,}" if after == first + 1 else f"{first:,}-{after - 1:,}" for first, after in ends}
    for first, classes, records in histogram:
        yield (
            spans.get(first, f"{first:,}+"),
            _count(classes),
            _count(records),
            "█" * max(1, round(_BAR * records / rows)),
        )


def draw_flat(console: Console, check_result: CheckResult) -> None:
    """Print what a check observed as it is: names and figures."""
    console.print(
        Text.assemble(
            (f"{check_result.check.type.replace('_', '-')}: ", "bold"), visible(str(check_result.outcome.message))
        )
    )
    _draw_figures(console, check_result.outcome.observed)


def _draw_figures(console: Console, observed: Mapping[str, Any]) -> None:
    rows = [(name, text) for name, text in _flat(observed) if text is not None]
    draw_table(console, ("~figure", ">value"), rows)


def _lead(console: Console, name: str, result: CheckResult) -> None:
    """Print the verdict."""
    word, style = _VERDICTS[result.outcome.status]
    console.print(Text.assemble((word, style), f"  {visible(name)}: {visible(str(result.outcome.message))}"))


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str | None]]:
    for name, value in values.items():
        label = f"{above}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{label}: ")
        elif isinstance(value, bool) or not isinstance(value, int | float):
            yield visible(label), None if value is None or isinstance(value, list | tuple) else visible(str(value))
        else:
            yield visible(label), _SAY.format(value, "number")


def _count(number: Any) -> str:
    return _SAY.format(number, "count")


def _ratio(share: Any) -> str | None:
    return None if share is None else _SAY.format(share, "ratio")


def _share(part: int, whole: int) -> str | None:
    return _ratio(part / whole) if whole else None


_PARTS: Final = {
    "k_anonymity": _draw_k,
    "l_diversity": draw_flat,
    "t_closeness": draw_flat,
    "population_uniqueness": draw_flat,
    "delta_presence": draw_flat,
}
