"""What a run of checks came to, for programs, terminals and notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from tablewatch._errors import NotAvailable, TablewatchError

if TYPE_CHECKING:
    from monitor.scan.results import CheckResult, PassResult, Target
    from monitor.terminal.redaction import Redactor

_COLOURS: Final = {"pass": "#1a7f37", "warn": "#8a5a00", "fail": "#b42318", "unknown": "#6639a6"}
"""Backgrounds of the status words, on which white text has a contrast of at least 5:1; all else has the page's own."""


@dataclass(frozen=True, slots=True)
class ReportedCheck:
    """The result of one check; the same keys as in `results` of `tablewatch.check/1`.

    `status` is `pass`, `warn`, `fail` or `unknown`; of an unknown one, `reason` says why (`no-data`, `timeout`,
    `unreachable`, `permission`, `misconfigured`, `bug`). `observed` and `expected` are counts and limits, never values
    of a row. `incident` is None unless results were recorded. `segments`: of a check with `by`, the results of those
    that are followed, as in the document; without a store their names are of this process only.
    """

    check_id: str
    table: str
    type: str
    kind: str
    status: str
    severity: str
    observed: Mapping[str, Any]
    expected: Mapping[str, Any]
    message: str
    reason: str | None
    incident: int | None
    owner: str | None
    duration_s: float
    segments: Sequence[Mapping[str, Any]] = ()
    _source: "tuple[CheckResult, Target] | None" = field(default=None, repr=False, compare=False)

    def rows(self, limit: int = 20) -> list[dict[str, Any]]:
        """Read up to `limit` of the rows or keys that break the check, by column, from the table as it is now.

        Raises:
            NotAvailable: the check is of the table as a whole, the table cannot be read, or this is another process.
        """
        from monitor.scan.violations import NoRows, violating_rows
        from monitor.terminal.problem import Problem

        if self._source is None:
            message = "the result came from another process; read the rows in that one"
            raise NotAvailable([Problem("check.rows", message)])
        result, target = self._source
        try:
            found = violating_rows(target, result.check, result.measured_at, limit=limit)
        except NoRows as error:
            raise NotAvailable([Problem("check.rows", str(error))]) from None
        return [dict(row) for row in found]

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process without the data."""
        return ReportedCheck, tuple(getattr(self, item.name) for item in fields(self) if item.name != "_source")


@dataclass(frozen=True, slots=True)
class Report:
    """The results of checks. A report is true (`assert report`) if nothing failed and nothing is unknown."""

    results: tuple[ReportedCheck, ...]
    _document: Mapping[str, Any] = field(repr=False)
    _pass: "PassResult" = field(repr=False, compare=False)
    _redact: "Redactor" = field(repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether every check passed, or warned; what could not be evaluated is not ok."""
        return bool(self._document["ok"])

    @property
    def failed(self) -> tuple[ReportedCheck, ...]:
        """The checks that failed."""
        return self._with("fail")

    @property
    def unknown(self) -> tuple[ReportedCheck, ...]:
        """The checks that could not be evaluated."""
        return self._with("unknown")

    @property
    def warned(self) -> tuple[ReportedCheck, ...]:
        """The checks that warned."""
        return self._with("warn")

    def to_dict(self) -> dict[str, Any]:
        """Return the published shape `tablewatch.check/1`, as `tablewatch check --format json` writes it."""
        return dict(self._document)

    def text(self, *, only_failed: bool = False) -> str:
        """Return what `tablewatch check` prints, without colours."""
        from monitor.reporting.terminal_views.pass_report import pass_lines
        from monitor.terminal.redaction import visible

        lines = [line.plain for line in pass_lines(self._pass, only_failed=only_failed)]
        lines += [] if self._pass.problem is None else [self._pass.problem]
        return "\n".join(visible(self._redact(line), keep="\n") for line in lines)

    def raise_for_failures(self) -> None:
        """Raise an error that lists what failed, unless the report is ok.

        Raises:
            ChecksFailed: a check failed, or could not be evaluated.
        """
        if not self.ok:
            raise ChecksFailed(self)

    def __bool__(self) -> bool:
        """Check whether the report is ok."""
        return self.ok

    def __str__(self) -> str:
        """Return the report as text."""
        return self.text()

    def _repr_html_(self) -> str:
        """Return the report as a fragment of HTML, for notebooks."""
        return _as_notebook_html(self._document)

    def _with(self, status: str) -> tuple[ReportedCheck, ...]:
        return tuple(result for result in self.results if result.status == status)


def _as_notebook_html(document: Mapping[str, Any]) -> str:
    """Return the results as a table for a notebook: no script, nothing fetched, colours that fit any theme; escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from monitor.terminal.redaction import visible

    environment = Environment(
        loader=PackageLoader("templates", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    return environment.get_template("notebook/results.html.j2").render(document=document, colours=_COLOURS)


def report_of(result: "PassResult", redact: "Redactor", targets: "Iterable[Target]") -> Report:
    """Return the report of a pass over tables, with the secrets of its configuration masked."""
    from monitor.reporting.terminal_views.pass_report import pass_as_json

    document = redact.value(pass_as_json(result))
    results: Sequence[Mapping[str, Any]] = document["results"]
    tables = {target.subject.name: target for target in targets}
    reported = [
        ReportedCheck(**item, _source=(check_result, tables[check_result.table]))
        for item, check_result in zip(results, result.results, strict=True)
    ]
    return Report(tuple(reported), document, replace(result, targets=()), redact)


class ChecksFailed(TablewatchError):
    """A check failed or could not be evaluated; `report` has all results."""

    def __init__(self, report: Report) -> None:
        text = f"{len(report.failed)} failed, {len(report.unknown)} could not be evaluated"
        super().__init__(f"{text}\n{report.text(only_failed=True)}")
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process with the report, not with the text of it."""
        return type(self), (self.report,)
