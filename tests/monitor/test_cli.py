"""The frame of the command line, from outside: exit codes, streams, formats, what is imported."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import monitor
from monitor.cli import _PANELS, build_command, command_files, command_paths, load_command, run, sum_up_command
from monitor.terminal.output import Invocation

_ROOT = Path(monitor.__file__).parents[1]
_HEAVY = frozenset(
    {
        "altair",
        "apprise",
        "alembic",
        "apscheduler",
        "babel",
        "checks",
        "duckdb",
        "great_expectations",
        "ibis",
        "incidents",
        "jinja2",
        "numpy",
        "pandas",
        "prometheus_client",
        "pyarrow",
        "remedies",
        "scipy",
        "sources",
        "sqlalchemy",
        "sqlglot",
        "sqlmodel",
        "store",
        "vl_convert",
        "yaml",
    }
)


def _run(*words: str, cwd: Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TABLEWATCH")}
    variables = {**inherited, "PYTHONPATH": str(_ROOT), "TMPDIR": str(cwd), **(environment or {})}
    return subprocess.run(
        [sys.executable, "-m", "monitor", *words], capture_output=True, text=True, cwd=cwd, env=variables, check=False
    )


def _json(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


_ASK_FOR_HELP = """
import json, sys
from monitor.cli import run
from monitor.cli import command_files, command_paths
from monitor.terminal.output import Invocation
for words in (["--help"], *([*name.split(), "--help"] for name in {*command_files(), *command_paths()})):
    code = run(words, Invocation())
    print(json.dumps([words, code, sorted(sys.modules)]), file=sys.stderr)
"""
_OF_HELP = re.compile(
    r"monitor(\.(cli|clock|commands|terminal))?|monitor\.(commands|terminal|verbs)\.\w+|monitor\.commands\.privacy\.\w+|monitor\.verbs"
)
"""The modules of the product that help may import."""


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    """`tablewatch --help` and the help of any command import no engine, model or store, so that they are quick.

    Of the product they import the commands and the terminal only. The first imports no pydantic; for the help
    of a command Typer does.
    """
    command = [sys.executable, "-c", _ASK_FOR_HELP]  # one after the other: what one imports, the next ones have too
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    asked = [json.loads(line) for line in done.stderr.splitlines()]
    assert len(asked) == 1 + len({*command_files(), *command_paths()})
    for words, code, modules in asked:
        assert code == 0, words
        assert "typer" in modules
        assert _HEAVY.intersection(modules) == set(), words
        own = [name for name in modules if name.startswith("monitor") and not _OF_HELP.fullmatch(name)]
        assert own == [], words
    assert "pydantic" not in asked[0][2]


def test_help_lists_twenty_commands_and_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """One screen; with --all each command has its sentence."""
    assert run(["--help"], Invocation()) == 0
    short = capsys.readouterr().out
    listed = re.findall(r"^│ ([a-z-]+) +[A-Z]", short, re.MULTILINE)
    others = re.search(r"More commands \(--help --all\): ([a-z, \n-]+)\.", short)[1].replace(",", " ").split()
    assert len(listed) <= 20
    assert sorted(listed + others) == list(command_files())
    assert run(["--help", "--all"], Invocation()) == 0
    everything = capsys.readouterr().out
    assert sorted(re.findall(r"^│ ([a-z-]+) +[A-Z]", everything, re.MULTILINE)) == list(command_files())
    assert "More commands" not in everything


def test_every_command_says_what_it_does_and_gives_an_example() -> None:
    """Each command has a sentence, an example in its help, and both shared options."""
    for name in command_paths():
        app = load_command(name)
        for command in app.registered_commands:
            text = command.callback.__doc__ or "" if command.callback else ""
            assert re.search(rf"Example: tablewatch .*{re.escape(name)}", text), f"{name}: {command.name}"


def test_the_list_of_commands_says_what_each_file_says_of_itself() -> None:
    """A file begins with its command's name and a sentence, and its panel is one of those that are listed."""
    for name in {*command_files(), *command_paths()}:
        summary = sum_up_command(name)
        assert summary.text, f"the docstring of {name} begins with `tablewatch {name}`: and a sentence"
        assert summary.panel in _PANELS, name


def test_version(tmp_path: Path) -> None:
    """`--version` prints name and version, and needs no configuration."""
    done = _run("--version", cwd=tmp_path, environment={"TABLEWATCH_VERSION": "a value that means nothing here"})
    assert done.returncode == 0
    assert done.stdout.startswith("tablewatch ")


def test_no_word_at_all_is_wrong_usage(tmp_path: Path) -> None:
    """Without a command the help is shown on stderr, and nothing on stdout."""
    done = _run(cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: tablewatch" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["confg"], "no such command 'confg'; did you mean 'config'?"),
        (["config", "chek"], "no such command 'chek'; did you mean"),
        (["config", "check", "--nope"], "no such option: --nope"),
        (["check", "-q"], "no such option: -q; did you mean '--only-failed', or '> /dev/null' and the exit code?"),
        (["check", "-v"], "no such option: -v; did you mean '--all', '--show-rows 10' or '--show-sql'?"),
        (["status", "--json"], "no such option: --json; did you mean '--format json'?"),
        (["start"], "no such command 'start'; did you mean 'run'?"),
        (["validate"], "no such command 'validate'; did you mean 'config check'?"),
        (["logs"], "no such command 'logs'; did you mean 'incident list' or 'alert log'?"),
        (["config", "check", "extra"], "got unexpected extra argument(s) (extra)"),
        (["config", "check", "-c"], "requires an argument"),
        (["config", "check", "--format", "xml"], "'xml' is not one of 'human', 'json'"),
        (["config"], "Usage: tablewatch config"),
    ],
)
def test_wrong_usage_leaves_with_2(tmp_path: Path, words: list[str], said: str) -> None:
    """Usage errors go to stderr in one form, with a way to the help."""
    done = _run(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        (["confg", "--format", "json"], {}),
        (["--format=json", "confg"], {}),
        (["config", "check", "--format", "json", "--nope"], {}),
        (["config", "check", "--nope"], {"TABLEWATCH_CONFIG_CHECK_FORMAT": "json"}),
        (["config", "check", "--nope"], {"TABLEWATCH_FORMAT": "json"}),
        (["config", "--format", "json"], {}),
        (["--format", "json"], {}),
        (["config", "check", "--format", "json"], {}),
        (["--format", "json", "config", "check"], {}),
        (["config", "check"], {"TABLEWATCH_CONFIG_CHECK_FORMAT": "json"}),
        (["config", "check", "--format", "json", "-c", "none.yaml"], {}),
    ],
)
def test_errors_obey_the_json_format(tmp_path: Path, words: list[str], environment: dict[str, str]) -> None:
    """With `--format json`, wherever it was said, stdout holds the envelope and nothing else."""
    done = _run(*words, cwd=tmp_path, environment=environment)
    value = _json(done)
    assert (done.returncode, value["ok"]) == (2, False)
    assert set(value) == {"ok", "error", "errors"}
    assert value["errors"][0]["message"] in value["error"]
    assert set(value["errors"][0]) == {"code", "message", "file", "line", "column", "hint"}
    assert done.stderr == ""


_GOOD = 'version: 1\nproject: shop\nsources: {files: {files: "*.csv"}}\ntables: []\n'


def test_the_configuration_may_be_named_before_or_after_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-c` works at either place, the place nearest to the command wins, and the environment may say it."""
    (tmp_path / "a.yaml").write_text(_GOOD, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(_GOOD.replace("shop", "other"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TABLEWATCH_FORMAT", "json")

    def project(*words: str, **environment: str) -> str:
        with monkeypatch.context() as said:
            for name, value in environment.items():
                said.setenv(name, value)
            assert run(words, Invocation()) == 0
        return str(json.loads(capsys.readouterr().out)["project"])

    assert project("-c", "a.yaml", "config", "check") == "shop"
    assert project("config", "check", "--config", "a.yaml") == "shop"
    assert project("config", "-c", "a.yaml", "check") == "shop"
    assert project("-c", "a.yaml", "config", "check", "-c", "b.yaml") == "other"
    assert project("config", "check", TABLEWATCH_CONFIG="b.yaml") == "other"
    assert project("config", "check", TABLEWATCH_CONFIG_CHECK_CONFIG="b.yaml") == "other"


def test_the_configuration_of_the_working_folder_is_used(tmp_path: Path) -> None:
    """Without `-c`, `tablewatch.yaml` of the working folder; without that, an error that says what was looked for."""
    done = _run("config", "check", cwd=tmp_path)
    assert done.returncode == 2
    assert "looked for tablewatch.yaml, tablewatch.yml and tablewatch/" in done.stderr
    (tmp_path / "tablewatch.yaml").write_text(_GOOD, encoding="utf-8")
    done = _run("config", "check", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ok  shop: 0 tables, 0 checks in tablewatch.yaml\n"


def test_errors_are_drawn_with_the_line_and_a_caret(tmp_path: Path) -> None:
    """A person sees the file, the place, the line, a caret under the spot, and help."""
    (tmp_path / "tablewatch.yaml").write_text(_GOOD.replace("tables: []", "tabels: []  # 売上"), encoding="utf-8")
    done = _run("config", "check", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: missing key 'tables'\n"
        "  --> tablewatch.yaml:1:1\n"
        "  |\n"
        "1 |version: 1\n"
        "  |^\n\n"
        "error: unknown key 'tabels'\n"
        "  --> tablewatch.yaml:4:1\n"
        "  |\n"
        "4 |tabels: []  # 売上\n"
        "  |^\n"
        "  = help: did you mean 'tables'?\n\n"
    )


_CRASH = """
import signal, sys, tempfile, threading, typer
from monitor import cli

app = typer.Typer()

def query():
    import duckdb
    duckdb.connect().execute("SELECT count(*) FROM range(100000)").fetchall()

@app.command()
def crash(ctx: typer.Context, how: str) -> None:
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "misread":
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("what a library makes of it") from None
    if how == "busy":
        query()
        cli.spill = tempfile.TemporaryDirectory(prefix="spill-")
        threading.Thread(target=lambda: [query() for _ in iter(int, 1)], daemon=True).start()
        raise KeyboardInterrupt
    if how == "locked":
        from store import StoreBusy
        raise StoreBusy("tablewatch.db is locked by another process; try again (SQLITE_BUSY)")
    try:
        {}["a secret value"]
    except KeyError as error:
        raise ValueError("another secret value") from error

cli.load_command = lambda name: app
sys.argv[0] = "tablewatch"
cli.main()
"""


def _crash(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(_ROOT), "TMPDIR": str(cwd)}
    return subprocess.run(
        [sys.executable, "-c", _CRASH, "config", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=variables,
        check=False,
    )


def test_a_bug_leaves_with_70_and_a_report_without_values(tmp_path: Path) -> None:
    """The report names the kinds of error and the places in the code, and holds no message, argument or value."""
    done = _crash("a-secret-argument", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (70, "")
    (report,) = tmp_path.glob("tablewatch-crash-*.txt")
    text = report.read_text(encoding="utf-8")
    assert (
        f"error: a bug in tablewatch: ValueError; a report without data values was written to {report}" in done.stderr
    )
    assert "secret" not in done.stderr
    assert "secret" not in text
    assert "builtins.ValueError" in text
    assert "caused by\nbuiltins.KeyError" in text
    assert " in crash" in text


def test_a_bug_obeys_the_json_format(tmp_path: Path) -> None:
    """Programs get the envelope for a bug too."""
    done = _crash("x", "--format", "json", cwd=tmp_path)
    assert (done.returncode, _json(done)["errors"][0]["code"]) == (70, "bug")


@pytest.mark.parametrize("how", ["interrupt", "misread"])
def test_an_interrupted_command_leaves_with_130(tmp_path: Path, how: str) -> None:
    """Ctrl-C is no bug, whatever error a library makes of it: no report, no traceback."""
    done = _crash(how, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert list(tmp_path.glob("tablewatch-crash-*.txt")) == []


_EARLY = """
import _signal, sys

class Press:
    def find_spec(self, name, *more):
        if name == sys.argv[1]:
            _signal.raise_signal(_signal.SIGINT)

sys.meta_path.insert(0, Press())
_signal.signal(_signal.SIGINT, _signal.default_int_handler)
from monitor.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["monitor.cli", "typer", "typer.core", "monitor.terminal.output"])
def test_a_command_that_is_interrupted_while_it_is_imported_leaves_with_130(tmp_path: Path, module: str) -> None:
    """Ctrl-C in the first moments of any command is silent, too: whatever is imported then."""
    done = subprocess.run(
        [sys.executable, "-c", _EARLY, module],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_interrupted_command_with_a_thread_in_an_engine_leaves_with_130(tmp_path: Path) -> None:
    """Ctrl-C is no abort in C++ (134), though a thread comes back from its engine while the process ends.

    What is registered for the end of the process is done: temporary folders are removed.
    """
    assert [_crash("busy", cwd=tmp_path).returncode for _ in range(3)] == [130] * 3
    assert list(tmp_path.glob("spill-*")) == []


def test_a_store_that_is_locked_in_the_middle_is_no_bug(tmp_path: Path) -> None:
    """What the store says is reported in its own words, with the code for what could not be done."""
    done = _crash("locked", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "error: tablewatch.db is locked by another process; try again (SQLITE_BUSY)" in done.stderr
    assert list(tmp_path.glob("tablewatch-crash-*.txt")) == []
    assert _json(_crash("locked", "--format", "json", cwd=tmp_path))["errors"][0]["code"] == "store"


def _options(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every option of a command and of those below it, with the words that lead to it."""
    yield from ((path, option) for option in command.params if option.param_type_name == "option")
    for name, inner in getattr(command, "commands", {}).items():
        yield from _options(inner, (*path, name))


@pytest.mark.parametrize("name", sorted(command_paths()))
def test_each_option_has_its_environment_twin(name: str) -> None:
    """TABLEWATCH_<COMMAND>_<OPTION>, also where the code calls the option otherwise than people do."""
    for path, option in _options(build_command(name), tuple(name.split())):
        word = max(option.opts, key=len).lstrip("-").replace("-", "_")
        twin = "_".join(("tablewatch", *path, word)).replace("-", "_").upper()
        assert twin == option.envvar or word in {option.name, "help"}, twin


@pytest.mark.parametrize("words", ["report --period weekly --period monthly", "check --no-store --no-store"])
def test_an_option_of_one_value_is_given_once(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A repeated one is refused, as the first value would be dropped; repeatable options take all their values."""
    assert run(words.split(), Invocation()) == 2
    assert "it is given 2 times; expected once" in capsys.readouterr().err
