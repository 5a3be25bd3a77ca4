"""Where text goes, and what is shown of a line."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

import monitor
from monitor.terminal.console import draw_problem, make_console
from monitor.terminal.output import Invocation
from monitor.terminal.problem import Problem
from monitor.terminal.redaction import Redactor, visible


def _drawn(problem: Problem, redact: Redactor | None = None) -> list[str]:
    output = io.StringIO()
    console = Console(file=output, highlight=False, markup=False, soft_wrap=True, width=160)
    draw_problem(console, problem, redact or Redactor())
    return output.getvalue().splitlines()


def test_the_caret_stands_under_wide_letters() -> None:
    """Japanese letters take two cells, and the caret knows."""
    lines = _drawn(Problem("x", "wrong", "a.yaml", 12, 6, excerpt="売上: nope"))
    assert lines[3] == "12 |売上: nope"
    assert lines[4] == "   |" + " " * 7 + "^"


def test_the_caret_follows_what_is_masked() -> None:
    """When a password before the spot is masked, the caret moves with the text."""
    line = "{url: a://u:longpassword@h, nope: 1}"
    lines = _drawn(Problem("x", "wrong", "a.yaml", 1, line.index("nope") + 1, excerpt=line))
    assert lines[3] == "1 |{url: a://u:***@h, nope: 1}"
    assert lines[4].index("^") == lines[3].index("nope")


def test_a_long_line_is_cut_around_the_spot() -> None:
    """A line of thousands of letters does not flood the terminal."""
    line = "x" * 5000 + "nope" + "y" * 5000
    lines = _drawn(Problem("x", "wrong", "a.yaml", 1, 5001, excerpt=line))
    assert len(lines[3]) < 160
    assert lines[4].index("^") == lines[3].index("nope")


def test_a_line_cannot_move_the_cursor() -> None:
    """Escape sequences in a quoted line are shown as blanks."""
    assert "\x1b" not in "".join(_drawn(Problem("x", "wrong", "a.yaml", 1, 1, excerpt="a\x1b[2Jb")))


def test_names_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters in what is shown are shown; line breaks, wide blanks and styles stay what they are."""
    console = make_console(str, stderr=False)
    console.print("column 'a\x1b[31m\u202eb\u3000c\x9bd'\nnext", style="bold")
    drawn = Table("na\x1bme")
    drawn.add_row("va\x07lue")
    console.print(drawn)
    said = capsys.readouterr().out
    assert said.startswith("column 'a\\x1b[31m\\u202eb\u3000c\\x9bd'\nnext\n")
    assert "\x1b" not in said
    assert "\x07" not in said


def test_what_people_see_is_masked(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a command draws or notes passes the redactor, tables and styles included."""
    invocation = Invocation(redactor=Redactor({"hunter2-and-more"}))
    invocation.emit({}, lambda console: console.print("a hunter2-and-more b", style="bold"))
    invocation.note("c hunter2-and-more d")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("a *** b\n", "c *** d\n")


def test_nothing_is_read_as_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """A name like `[red]` or `:smile:` is printed as it is, and long lines are not broken."""
    text = "[red]x[/red] :smile: " + "word " * 100
    make_console(str, stderr=False).print(text)
    assert capsys.readouterr().out == text + "\n"


@pytest.mark.parametrize("words", ["config schema", "config show"])
def test_a_reader_that_goes_away_ends_the_output_only(tmp_path: Path, words: str) -> None:
    """`tablewatch ... | head -1` ends quietly, and the exit code keeps its meaning."""
    tables = "".join(f"  - {{name: table{number}, source: files}}\n" for number in range(10_000))
    text = f'version: 1\nproject: shop\nsources: {{files: {{files: "*.csv"}}}}\ntables:\n{tables}'
    (tmp_path / "tablewatch.yaml").write_text(text, encoding="utf-8")
    command = f"set -o pipefail; {sys.executable} -m monitor {words} | head -1"
    root = str(Path(monitor.__file__).parents[1])
    done = subprocess.run(
        ["/bin/bash", "-c", command],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in {"{\n", "version: 1\n"}
    assert list(tmp_path.glob("tablewatch-crash-*.txt")) == []


def test_marks_that_shape_letters_and_tabs_stay():
    """Persian words, joined emoji and tabs are shown as they were written."""
    text = "می\u200cخواهم \U0001f468\u200d\U0001f469 a\tb"  # noqa: RUF001 - Persian is meant
    assert visible(text) == text
