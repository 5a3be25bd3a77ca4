"""Find what a person declared of columns: all values that they could have had. Nothing is ever taken from a table."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from checks import did_you_mean
from checks.parameters.errors import describe_error
from monitor.terminal.problem import ExitCode, Problem, Stop
from remedies.differential_privacy.answers import BoundedColumn, CategoryColumn, Domain, SteppedColumn
from remedies.generalisation import text_of

if TYPE_CHECKING:
    from monitor.config import Config, Release
    from monitor.config.release_model import Recipe
    from remedies.differential_privacy.answers.domain import Cells

_RANGE: Final = re.compile(r"(?P<low>-?[0-9]+)\.\.(?P<high>-?[0-9]+)(:(?P<width>[0-9]+))?")
_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_FORMS: Final = "sex=F,M or birth_year=1930..2010 or birth_year=1930..2009:10 (cells of ten)"


def domains_for(
    columns: Sequence[str],
    *,
    inline: Iterable[str],
    others: Iterable[str],
    declared: "Mapping[str, Cells | BoundedColumn]",
    released: Iterable[str] = (),
) -> "dict[str, Cells]":
    """Return the domain of each column: what is said `inline`, else what is declared; `others` as `sex=F`.

    Without columns, those of `inline` are meant, and those that a release randomises.

    Raises:
        Stop: what is said cannot be read, or speaks of another column, or a column has no domain; all problems are in
        it.
    """
    parts, problems = _inline(inline)
    columns = columns or tuple(dict.fromkeys((*released, *parts)))
    if not columns and not problems:
        problems.append(Problem("remedy.no_columns", "no column is named", hint=f"--domain {_FORMS}"))
    results: dict[str, Cells | BoundedColumn] = {**declared, **parts}
    taken, faults = _others(others, results)
    problems += faults
    problems += [_strange("--domain", name, columns) for name in parts if name not in columns]
    problems += [_strange("--other", name, columns) for name in taken if name not in columns]
    problems += [
        _missing(name, results.get(name))
        for name in columns
        if not isinstance(results.get(name), CategoryColumn | SteppedColumn)
    ]
    if problems:
        raise Stop(ExitCode.USAGE, *problems)
    cells = {name: taken.get(name, results[name]) for name in columns}
    return {name: cell for name, cell in cells.items() if isinstance(cell, CategoryColumn | SteppedColumn)}


def declared_in(
    config: "Config | None", table: str, release: "Release | None", remedy: str = "randomise"
) -> "Mapping[str, Cells | BoundedColumn]":
    """Return what the configuration declares of a table's columns: as of the release's remedy, else its budget.

    Raises:
        Stop: a domain of the release makes no sense.
    """
    budget = None if config is None else config.budgets.get(table)
    results: dict[str, Cells | BoundedColumn] = {} if budget is None else dict(budget.domain)
    recipe = recipe_of(release, remedy)
    for name, declared in ((recipe and recipe.settings.get("domain")) or {}).items():
        try:
            results[name] = TypeAdapter(Domain).validate_python(declared)
        except ValidationError as error:
            raise Stop(ExitCode.USAGE, Problem("remedy.domain", f"domain of '{name}': {_said(error)}")) from None
    return results


def released_columns(release: "Release | None") -> tuple[str, ...]:
    """Return the columns that a release randomises, where it says so."""
    recipe = recipe_of(release)
    return () if recipe is None else tuple(recipe.settings.get("columns") or recipe.settings.get("domain") or ())


def recipe_of(release: "Release | None", remedy: str = "randomise") -> "Recipe | None":
    """Return the first remedy of a kind that a release has, by default its randomisation."""
    recipes = () if release is None else release.remedies
    return next((recipe for recipe in recipes if recipe.remedy == remedy), None)


def read_cells(text: str) -> "Cells":
    """Read `F,M`, `1930..2010` or `1930..2009:10`; values that are all whole numbers are numbers, else texts.

    Raises:
        ValueError: it is of no known form.
    """
    match = _RANGE.fullmatch(text.strip())
    if match:
        return SteppedColumn(range=(int(match["low"]), int(match["high"])), width=int(match["width"] or 1))
    values = [value.strip() for value in next(csv.reader([text], skipinitialspace=True), [])]
    if not values or "" in values:
        raise ValueError("an empty value; separate values by one comma and quote values that contain a comma")
    return CategoryColumn(values=tuple(map(int, values)) if all(map(_WHOLE.fullmatch, values)) else tuple(values))


def declared_words(text: str) -> "SteppedColumn | tuple[object, ...]":
    """Return what is said as a remedy takes it: a range, or all values.

    Raises:
        ValueError: it is of no known form.
    """
    cells = read_cells(text)
    return cells if isinstance(cells, SteppedColumn) else cells.values


def as_settings(cells: "Mapping[str, Cells]", settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return domains as `randomise` and `synthesise` take them, beside the settings that are not None."""
    return {
        "domains": {name: cell if isinstance(cell, SteppedColumn) else labels_of(cell) for name, cell in cells.items()},
        "others": {name: cell.other for name, cell in cells.items() if cell.other is not None},
        **{name: value for name, value in settings.items() if value is not None},
    }


def labels_of(cells: "Cells") -> "tuple[bool | int | float | str, ...]":
    """Return all values that a column comes out with."""
    if isinstance(cells, CategoryColumn):
        return cells.values
    return tuple(range(cells.range[0], cells.range[1] + 1, cells.width))


def reason(error: ValueError) -> str:
    """Describe what is wrong with a domain."""
    return _said(error) if isinstance(error, ValidationError) else str(error)


def _inline(inline: Iterable[str]) -> "tuple[dict[str, Cells], list[Problem]]":
    cells: dict[str, Cells] = {}
    problems: list[Problem] = []
    for text in inline:
        name, sign, domain = (part.strip() for part in text.partition("="))
        if not (name and sign and domain):
            problems.append(Problem("remedy.domain", f"--domain '{text}': expected column=values", hint=_FORMS))
        elif name in cells:
            problems.append(Problem("remedy.domain", f"--domain names '{name}' twice; expected each column once"))
        else:
            try:
                cells[name] = read_cells(domain)
            except ValueError as error:
                problems.append(Problem("remedy.domain", f"--domain '{text}': {reason(error)}", hint=_FORMS))
    return cells, problems


def _others(
    parts: Iterable[str], results: "Mapping[str, Cells | BoundedColumn]"
) -> "tuple[dict[str, Cells], list[Problem]]":
    current_cells: dict[str, Cells] = {}
    problems = []
    for current_name in parts:
        name, sign, text = (part.strip() for part in current_name.partition("="))
        cells = results.get(name)
        if not sign or not isinstance(cells, CategoryColumn | SteppedColumn) or name in current_cells:
            message = f"--other '{current_name}': expected a column with a domain, once, '=' and one of its values"
            problems.append(Problem("remedy.domain", message))
            continue
        other = _value(cells, text)
        if other is None:
            problems.append(
                Problem("remedy.domain", f"--other '{current_name}': the domain of '{name}' has no such value")
            )
            continue
        current_cells[name] = cells.model_copy(update={"other": other})
    return current_cells, problems


def _value(cells: "Cells", text: str) -> Any:
    """Find a value by its text; None where there is none."""
    if isinstance(cells, CategoryColumn):
        return next((value for value in cells.values if text_of(value) == text), None)
    low, high = cells.range
    return int(text) if _WHOLE.fullmatch(text) and low <= int(text) <= high else None


def _missing(name: str, result: "BoundedColumn | Cells | None") -> Problem:
    if result is None:
        message = f"column '{name}' has no declared domain; domains are never derived from the table"
    else:
        message = f"column '{name}' is declared with limits; declare all its values, or a range of whole numbers"
    hint = f"--domain '{name}=A,B,C' or '{name}=1930..2010', or 'domain' under 'budgets' of the configuration"
    return Problem("remedy.domain", message, hint=hint)


def _strange(option: str, name: str, columns: Sequence[str]) -> Problem:
    near = did_you_mean(name, columns) or f"; there are: {', '.join(columns)}"
    return Problem("remedy.domain", f"{option} names '{name}', which is not one of the columns{near}")


def _said(error: ValidationError) -> str:
    (first, *_) = error.errors(include_url=False, include_input=False)
    return describe_error({**first, "loc": ()})
