"""What is said about a wrong value."""

import pytest

from tests.monitor.config.conftest import Problems

_CHECK = "      - {type: not_null, columns: [id]}\n"


@pytest.mark.parametrize(
    ("old", "new", "code", "message", "hint"),
    [
        ("    owner: crew\n", "    ownr: crew\n", "unknown_key", "unknown key 'ownr'", "did you mean 'owner'?"),
        ("version: 1\n", "versoin: 1\n", "unknown_key", "unknown key 'versoin'", "did you mean 'version'?"),
        (", email: ", ", mail: ", "unknown_key", "unknown key 'mail'", "did you mean 'email'?"),
        ("{files: ", "{zzz: 1, files: ", "unknown_key", "unknown key 'zzz'", "known: concurrency, connect_timeout"),
        ("    source: files\n", "", "missing_key", "missing key 'source'", None),
        ("project: shop", "project: 2026", "value", "'project' takes a text, not 2026", 'put it in quotes: "2026"'),
        ("project: shop", "project: ''", "value", "'project' takes a non-empty text, not ''", None),
        ("project: shop", "project:", "value", "'project' takes a text, not nothing", None),
        ("project: shop", "project: [a]", "value", "'project' takes a text, not a list", None),
        ("version: 1", "version: 2", "value", "'version' takes one of 1, not 2", None),
        (
            "Asia/Tokyo",
            "Asia/Tokio",
            "value",
            "'timezone' takes an IANA time zone such as Asia/Tokyo, not 'Asia/Tokio'; did",
            None,
        ),
        ("crew@example.org", "crew", "value", "'email' takes a text of the form", None),
        ("{name: The crew", "[{name: The crew", "syntax", "not valid YAML", "is not closed"),
        ("name: The crew", "name: ${CREW}", "syntax", "not valid YAML", "a ${...} inside braces is not in quotes"),
        ("tables:\n", "locale: fr\ntables:\n", "value", "'locale' takes one of 'en', 'ja', not 'fr'", None),
        (
            "columns: [id]",
            "columns: [id], severity: warn",
            "value",
            "'severity' takes one of",
            "did you mean 'warning'?",
        ),
        (
            " owner: crew",
            " owner: crew\n    schedule: hourly",
            "value",
            "'schedule' takes a schedule such as 'every 15m'",
            None,
        ),
        (" owner: crew", " owner: crew\n    upstream: orders", "value", "'upstream' takes a list, not 'orders'", None),
        (
            '"data/*.csv"}',
            '"data/*.csv", query_timeout: 60}',
            "value",
            "'query_timeout' takes a duration such as 26h, not the bare number 60",
            None,
        ),
        (
            '"data/*.csv"}',
            '"data/*.csv", concurrency: many}',
            "value",
            "'concurrency' takes a whole number, not 'many'",
            None,
        ),
        (
            '"data/*.csv"}',
            '"data/*.csv", concurrency: 1.5}',
            "value",
            "'concurrency' takes a whole number, not 1.5",
            None,
        ),
        ('"data/*.csv"}', '"data/*.csv", concurrency: 0}', "value", "'concurrency' takes at least 1, not 0", None),
        (
            '"data/*.csv"}',
            '"data/*.csv", csv: {header: maybe}}',
            "value",
            "'header' takes true or false, not 'maybe'",
            None,
        ),
        (
            '"data/*.csv"}',
            '"data/*.csv", url: "sqlite:///a"}',
            "value",
            "a source has exactly one of files, delta, iceberg, url, spark, external; seen: files, url",
            None,
        ),
        (
            '{files: "data/*.csv"}',
            "data/*.csv",
            "value",
            "'files' takes a mapping of keys to values, not 'data/*.csv'",
            None,
        ),
        (
            "type: not_null",
            "type: not_nul",
            "unknown_check",
            "unknown check type 'not_nul'",
            "did you mean 'not_null'? known: ",
        ),
        ("type: not_null, ", "", "missing_key", "missing key 'type'", "known: "),
        (_CHECK, "      - not_null\n", "value", "a check is a mapping with a 'type'", "known: "),
        ("columns: [id]", "column: [id]", "unknown_key", "unknown key 'column'", "did you mean 'columns'?"),
        (", columns: [id]", "", "missing_key", "missing key 'columns'", None),
        ("columns: [id]", "columns: []", "value", "'columns' takes at least 1 of them, not an empty list", None),
        ("columns: [id]", "columns: [id], max_ratio: 2", "value", "'max_ratio' takes at most 1, not 2", None),
        (
            "columns: [id]",
            "columns: [id], severity: bad",
            "value",
            "'severity' takes one of 'info', 'warning', 'error', 'critical', not 'bad'",
            None,
        ),
        ("columns: [id]", "columns: [id], id: a b", "value", "'id' takes a text of the form", None),
        (
            "columns: [id]",
            "columns: [id], warn: {severity: info}",
            "value",
            "'warn' accepts limits only (deviation, limits, max_ratio); seen: severity",
            None,
        ),
    ],
)
def test_a_wrong_value_is_reported(  # noqa: PLR0917 - a table of cases
    problems_of: Problems, small: str, old: str, new: str, code: str, message: str, hint: str | None
) -> None:
    """Each mistake has a code, says what was seen and expected, and helps where it can."""
    assert old in small
    problems = problems_of(small.replace(old, new, 1))
    found = [problem for problem in problems if problem.code == f"config.{code}" and message in problem.message]
    assert len(found) == 1, problems
    assert hint is None or hint in str(found[0].hint)


def test_everything_wrong_is_told_at_once_in_order(problems_of: Problems) -> None:
    """Wrong types, unknown keys, unknown checks, unknown names and unset variables do not hide each other."""
    text = """\
version: 1
project: ${PROJECT}
sources:
  files: {files: "a.csv", timeout: 5s}
tables:
  - name: orders
    source: flies
    checks:
      - {type: freshnes, column: at}
      - {type: not_null, columns: id}
  - {name: orders, source: files, owner: crew}
"""
    assert [(problem.line, problem.column, problem.code.removeprefix("config.")) for problem in problems_of(text)] == [
        (2, 10, "missing_variable"),
        (4, 27, "unknown_key"),
        (7, 13, "unknown_reference"),
        (9, 16, "unknown_check"),
        (10, 35, "value"),
        (11, 12, "duplicate_table"),
        (11, 42, "unknown_reference"),
    ]


def test_a_problem_quotes_its_line(problems_of: Problems, small: str) -> None:
    """The line is quoted as it is written, for the terminal; the JSON form failed it."""
    (problem,) = problems_of(small.replace("owner: crew", "owner: crw"))
    assert problem.excerpt == "    owner: crw"
    assert "excerpt" not in problem.as_json()


def test_a_limit_of_a_warn_block_points_at_it(problems_of: Problems, small: str) -> None:
    """A mistake inside `warn` stands where `warn` stands."""
    text = small.replace("columns: [id]", "columns: [id], warn: {max_ratio: lots}")
    (problem,) = problems_of(text)
    assert (problem.line, problem.excerpt is not None) == (13, True)
    assert problem.column == text.splitlines()[12].index("warn") + 1
