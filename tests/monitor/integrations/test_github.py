"""Results and problems as workflow commands of GitHub Actions."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from checks import Severity, Status
from monitor.config.yaml_nodes import Place
from monitor.integrations.github import as_annotations, path_in_repository, problems_as_annotations
from monitor.terminal.problem import Problem
from tests.monitor.integrations.passes import checked, passed

_COMMAND = re.compile(r"::(?P<name>[a-z]+)(?: (?P<properties>[^:]*))?::(?P<data>.*)")
_ROOT = Path("/repository")


def _unescape(text: str) -> str:
    for escape, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, character)
    return text


def _commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Read a log as the runner does: a line that begins with `::` after blanks, `name=value` pairs, data."""
    commands = []
    for line in text.splitlines():
        if line.lstrip().startswith("::"):
            match = _COMMAND.fullmatch(line)
            assert match is not None, line
            pairs = (pair.partition("=") for pair in (match["properties"] or "").split(",") if pair)
            properties = {key: _unescape(value) for key, _, value in pairs}
            commands.append((match["name"], properties, _unescape(match["data"])))
        else:
            assert "##[" not in line
    return commands


def _levels(text: str) -> list[str]:
    return [name for name, _, _ in _commands(text) if name in {"error", "warning"}]


def test_annotations_stand_at_the_line_of_the_check() -> None:
    """Of the file as the repository knows it."""
    result = passed([checked(Status.FAIL, why="Bills: twice, or more")])
    places = {"orders.not-null": Place("/repository/conf/tablewatch.yaml", 7, 9)}
    assert ("error", {"file": "conf/tablewatch.yaml", "line": "7", "col": "9", "title": "orders.not-null"},
            "3 of 9 rows are NULL · error · owner desk\nBills: twice, or more") in _commands(
        as_annotations(result, places, root=_ROOT)
    )  # fmt: skip


def test_what_does_not_pass_is_an_error_or_a_warning() -> None:
    """A check that could not be evaluated is an error; a warning, and a failure that does not count, warn."""
    for status, severity, expected in (
        (Status.PASS, Severity.ERROR, []),
        (Status.WARN, Severity.ERROR, ["warning"]),
        (Status.FAIL, Severity.ERROR, ["error"]),
        (Status.FAIL, Severity.WARNING, ["warning"]),
        (Status.UNKNOWN, Severity.INFO, ["error"]),
    ):
        result = passed([checked(status, severity=severity)], fail_on=Severity.ERROR)
        assert _levels(as_annotations(result, {}, root=_ROOT)) == expected


def test_tables_are_groups_of_the_log() -> None:
    """Every result is in the group of its table, and the last line counts them."""
    lines = as_annotations(passed([checked(Status.PASS), checked(Status.FAIL, table="b")]), {}, root=_ROOT).splitlines()
    assert lines[:6] == [
        "::group::orders: 1 check, 1 pass",
        "PASS    orders.not-null",
        "::endgroup::",
        "::group::b: 1 check, 1 fail",
        "FAIL    b.not-null  3 of 9 rows are NULL",
        "::endgroup::",
    ]
    assert lines[-1] == "PASS 1  WARN 0  FAIL 1  UNKNOWN 0  of 2 in 1.5 s"


def test_of_many_failures_the_most_severe_are_annotated() -> None:
    """GitHub shows ten of a level: nine, and how many more there are, which the log lists."""
    many = [checked(Status.FAIL, name=f"c{n}") for n in range(30)]
    worst = checked(Status.FAIL, name="worst", severity=Severity.CRITICAL)
    text = as_annotations(passed([*many, worst]), {}, root=_ROOT)
    errors = [(properties["title"], data) for name, properties, data in _commands(text) if name == "error"]
    assert [title for title, _ in errors] == ["orders.worst", *(f"orders.c{n}" for n in range(8)), "tablewatch"]
    assert errors[-1][1] == "22 more of this level; the log of this step lists all of them"
    assert text.count("orders.c29") == 2
    ten = as_annotations(passed(many[:10]), {}, root=_ROOT)
    assert _levels(ten) == ["error"] * 10


def test_results_that_were_not_stored_are_an_error() -> None:
    """Though every check passed."""
    text = as_annotations(passed([checked(Status.PASS)], problem="disk full"), {}, root=_ROOT)
    assert ("error", {"title": "store"}, "disk full") in _commands(text)


@given(
    st.text() | st.sampled_from(["::set-env name=X::1", "##[add-path]x", "a\n::error::x", "100%25,:\r\n"]),
    st.sampled_from(list(Status)),
)
def test_no_name_or_message_is_a_command(text: str, status: Status) -> None:
    """Whatever stands in them, there are no commands but ours, and each holds what it was given, printably."""
    result = passed([checked(status, table=text or "t", text=text, why=text)])
    log = as_annotations(result, {f"{text}.not-null": Place(text, 1, 1)}, root=_ROOT)
    names = [name for name, _, _ in _commands(log)]
    assert names == [
        "group",
        "endgroup",
        *([] if status is Status.PASS else ["warning" if status is Status.WARN else "error"]),
    ]


@given(st.text(), st.text(min_size=1))
def test_problems_become_annotations_that_hold_all_of_them(message: str, file: str) -> None:
    """File, line, column and hint; what cannot be printed is written as an escape."""
    text = problems_as_annotations([Problem("config.value", message, file, 3, 5, "do this")], root=_ROOT)
    ((name, properties, data),) = _commands(text)
    assert (name, properties["line"], properties["col"], properties["title"]) == ("error", "3", "5", "config.value")
    assert data.endswith("\ndo this")
    if message.isprintable():
        assert data == f"{message}\ndo this"


def test_a_path_outside_the_repository_stays_as_it_was_typed() -> None:
    """A service cannot show its lines, but people can read where they are."""
    assert path_in_repository("/repository/a b/c.yaml", _ROOT) == "a b/c.yaml"
    assert path_in_repository("/elsewhere/c.yaml", _ROOT) == "/elsewhere/c.yaml"
