"""Every option and argument of every command takes whatever a shell can hand over, and never leaves as a bug.

The commands, their options and arguments are found by walking; `VALID` says how those are called that need words, and
one that is missing there fails the test. Then each value of each is replaced by hostile ones, one at a time.
`make soak` asks for a number of inputs over all commands: a sample of these, or all of them and pairs drawn by a seed.
"""

import io
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from monitor.cli import _build_root, command_files, run
from monitor.terminal.output import Invocation
from tests.monitor.commands.terminal import CONFIG, open_terminal
from tests.tiers import examples

_MORE = """\
releases:
  survey:
    table: people
    audience: partners
    columns: {age: quasi-identifier, zip: quasi-identifier, spends: sensitive}
    limits: {k: 2}
contracts: {board: {tables: [orders], time_to_repair: 8h}}
products: {all-of-it: {tables: ["*"], promises: {ttr: 8h}}}
budgets:
  refunds: {unit: row, total: 3, domain: {id: [1, 2, 3]}}
alerts:
  channels: {hook: {webhook: {url: "http://127.0.0.1:9/hook"}}}
"""
_ID, _OUT = "1", "folder/out.csv"
VALID: dict[str, Sequence[str]] = {
    "alert enable": ["hook"],
    "alert resend": ["msg_1"],
    "alert route": ["--table", "orders"],
    "alert test": ["nobody"],
    "privacy answer count": ["refunds", "--dry-run"],
    "privacy answer histogram": ["refunds", "--by", "id", "--dry-run"],
    "privacy answer list": ["refunds"],
    "privacy answer mean": ["refunds", "id", "--dry-run"],
    "privacy answer quantile": ["refunds", "id", "--dry-run"],
    "privacy answer sum": ["refunds", "id", "--dry-run"],
    "backfill": ["refunds", "--from", "3d"],
    "backup": ["copy.db", "--force"],
    "privacy budget change": ["refunds", "--total", "3", "--reason", "x"],
    "privacy budget create": ["refunds"],
    "privacy budget resume": ["--reason", "x"],
    "check": ["refunds"],
    "demo": ["--dir", "people.csv"],
    "dev new-channel": ["pigeon_post"],
    "dev new-check": ["parcel_weight"],
    "dev new-source": ["tape_store"],
    "diff": ["refunds", "refunds", "--key", "id"],
    "privacy disclosure compare": ["people.csv", "--by", "age"],
    "downtime estimate": ["--tables", "10"],
    "export contract": ["orders"],
    "export gx": ["--table", "orders"],
    "import contract": ["people.csv"],
    "import dbt": ["target"],
    "event add": ["deploy", "--note", "x"],
    "event remove": [_ID],
    "import gx": ["suite.json", "--table", "orders"],
    "import incidents": ["tickets.csv", "--dry-run"],
    "import openlineage": ["results.json"],
    "import results": ["results.json"],
    "incident ack": [_ID],
    "incident assign": [_ID, "ann"],
    "incident brief": [_ID],
    "incident causes": [_ID],
    "incident comment": [_ID, "x"],
    "incident correct": [_ID],
    "incident merge": [_ID, "2"],
    "incident open": ["--table", "orders", "--title", "x"],
    "incident reopen": [_ID],
    "incident resolve": [_ID, "--as", "fixed"],
    "incident root": [_ID, "2"],
    "incident show": [_ID],
    "incident snooze": [_ID, "--for", "1h"],
    "init": ["folder"],
    "privacy local choose": ["--epsilon", "1", "--domain", "yes,no"],
    "privacy local estimate": ["reports.jsonl", "--epsilon", "1", "--domain", "yes,no"],
    "privacy local perturb": ["yes", "--epsilon", "1", "--domain", "yes,no"],
    "product show": ["all-of-it"],
    "release approve": ["survey", "--remedy", "suppress", "--note", "x"],
    "release assess": ["survey"],
    "release export": ["survey", "--remedy", "suppress", "--out", _OUT],
    "release compare": ["survey"],
    "release verify": ["people.csv"],
    "release hold": ["survey", "--note", "x"],
    "release record": ["survey"],
    "privacy remedy code": ["people.csv", _OUT, "--top", "age=22"],
    "privacy remedy generalise": ["people.csv", _OUT, "--quasi-identifiers", "age,zip", "--k", "2"],
    "privacy remedy lattice": ["people.csv", "--quasi-identifiers", "age,zip", "--k", "2"],
    "privacy remedy microaggregate": ["people.csv", _OUT, "--quasi-identifiers", "age,zip", "--k", "2"],
    "privacy remedy randomise": ["people.csv", _OUT, "--columns", "zip", "--epsilon", "1"],
    "privacy remedy reconstruct": ["people.csv", "--mechanism", "mechanism.json"],
    "privacy remedy synthesise": ["people.csv", _OUT, "--domain", "age=20..29", "--epsilon", "1"],
    "privacy remedy suppress": ["people.csv", _OUT, "--quasi-identifiers", "age,zip", "--k", "2"],
    "privacy risk linkage": ["people", "people.csv", "--on", "age"],
    "privacy risk remember": ["people", "--as", "it"],
    "privacy risk subsets": ["people"],
    "privacy risk suggest": ["people"],
    "privacy risk table": ["people", "--quasi-identifiers", "age,zip"],
    "simulate": ["--open-after", "2"],
    "silence add": ["--reason", "x", "--table", "orders", "--for", "1h"],
    "silence end": ["1"],
    "config change": ["orders", "owner: desk"],
    "config rename": ["owner", "desk", "office"],
    "table rename": ["orders", "sales"],
    "status-page add": ["--table", "orders"],
    "status-page revoke": ["1"],
    "status-page rotate": ["1"],
    "status-page write": ["pages", "--table", "orders"],
    "store copy": ["--cancel"],
    "table show": ["orders"],
    "account login-link": ["--as", "mia"],
    "account token add": ["ci"],
    "account token revoke": ["ci"],
    "account session end": ["0123456789abcdef"],
    "account user add": ["mia", "--no-password"],
    "account user change": ["mia"],
    "account user password": ["mia"],
    "account user remove": ["mia"],
    "restore": ["copy.db"],
    "run": ["--once"],
    "mcp": ["--act-as", "mia"],
    "serve": ["--host", "192.0.2.1"],
    "suggest": ["refunds"],
}
"""How commands are called validly that need words; the others are called without any."""
HOSTILE = (
    "99999999999999999999999", "-1", "0", "nan", "-inf", "1e400", "0001-01-01", "0001-W01", "9999-W53",
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "2026-02-30", "", "x" * 70_000, "\udcff\udc00",
    "\u202eevil\x1b[31m", "/proc/x", "/dev/full", "folder", "pipe", "=", "a=inf", "99999999999999d", "1/0", "9" * 5000,
    "%s", "..", "x" * 256,
)  # fmt: skip
_IMPOSSIBLE = ("x" * 70_000, "/proc/x", "/dev/full", "pipe", "people.csv")
"""Folders in which no demo can be built: to build one takes long."""
_LONGEST_S = 240
WANTED = int(os.environ.get("TABLEWATCH_HOSTILE_INPUTS", "0"))
"""How many inputs there are over all commands; 0: each value of each parameter once."""
SEED = int(os.environ.get("TABLEWATCH_CRASH_SEED", "20261121"))


def _leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None or (words and getattr(command, "invoke_without_command", False)):
        yield " ".join(words), command
    for name in command_files() if not words else inner or ():
        below = inner[name] if words and inner else command.get_command(None, name)
        yield from _leaves(below, (*words, name))


COMMANDS = dict(_leaves(_build_root(), ()))


def needs_words(name: str) -> bool:
    """Return whether a command has an argument or option that must be given."""
    return any(param.required for param in COMMANDS[name].params)


class _NoAnswerError(BaseException):
    """A command hangs; no OSError, which commands answer."""


@contextmanager
def _deadline() -> Iterator[None]:
    """End what hangs: a pipe without a writer, a file without an end."""

    def ring(*_: object) -> None:
        raise _NoAnswerError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(_LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _cases(name: str, words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the calls of a command in which one value is a hostile one."""
    parameters = [param for param in COMMANDS[name].params if not getattr(param, "is_flag", False)]
    arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
    for parameter in parameters:
        shared = parameter.name in {"config", "format", "help"}
        if shared and name != "config show":
            continue  # every command reads them alike
        for value in _IMPOSSIBLE if name == "demo" else HOSTILE:
            given = list(words)
            if parameter.param_type_name == "argument":
                at = arguments.index(parameter)
                yield [*given[:at], value, *given[at + 1 :]]
                continue
            option = max(parameter.opts, key=len)
            if option in given:
                del given[given.index(option) : given.index(option) + 2]
            yield [*given, f"{option}={value}"]


@cache
def _shares() -> dict[str, int]:
    """Return how many of the wanted inputs each command gets: its share of the single ones."""
    ends = list(accumulate(sum(1 for _ in _cases(name, VALID.get(name, ()))) for name in COMMANDS))
    marks = [0, *(WANTED * end // ends[-1] for end in ends)]
    return {name: end - start for name, (start, end) in zip(COMMANDS, pairwise(marks), strict=True)}


def _inputs(name: str) -> Iterator[list[str]]:
    """Yield single hostile values, in their order or as many as are wanted, then pairs of them."""
    cases = list(_cases(name, VALID.get(name, ())))
    share = _shares()[name] if WANTED else min(examples(len(cases)), len(cases))
    dice = random.Random(f"{SEED} {name}")
    yield from cases if share >= len(cases) else dice.sample(cases, share)
    for _ in range(share - len(cases)):
        first = dice.choice(cases)
        pairs = [case for case in _cases(name, first) if _are_different(case)]
        yield dice.choice(pairs or [first])


def _are_different(words: Sequence[str]) -> bool:
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    return len(options) == len(set(options))


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with everything that the valid calls name, and with a pipe without a writer.

    It lies in a folder of its own: `init ..` reads every table that lies around it.
    """
    inner = tmp_path / "project"
    inner.mkdir()
    monkeypatch.chdir(inner)
    monkeypatch.setenv("LOGNAME", "m.mori")
    open_terminal(inner, capsys)
    sources = 'sources:\n  shop: {url: "sqlite:///shop.sqlite", timezone: UTC}\n  files: {files: people.csv}'
    text = CONFIG.replace('sources: {shop: {url: "sqlite:///shop.sqlite", timezone: UTC}}', sources)
    text = text.replace("  - name: totals", "  - name: people\n    source: files\n  - name: totals")
    Path("tablewatch.yaml").write_text(text + _MORE, encoding="utf-8")
    Path("people.csv").write_text("age,zip,spends\n" + "".join(f"{20 + n % 5},{n % 3},{n % 4}\n" for n in range(40)))
    Path("tickets.csv").write_text("id,table,title,occurred,detected\n1,orders,x,2026-11-01 10:00,2026-11-01 11:00\n")
    Path("suite.json").write_text('{"expectations": []}')
    Path("results.json").write_text("{}")
    Path("target").mkdir()
    Path("target/run_results.json").write_text("{}")
    Path("reports.jsonl").write_text("")
    Path("mechanism.json").write_text("{}")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    return inner


def _left(words: Sequence[str]) -> int:
    try:
        with _deadline():
            return run(words, Invocation())
    except SystemExit as left:
        return int(left.code or 0)


def test_every_command_that_needs_words_is_called_with_them() -> None:
    """A new command has its words here."""
    assert set(filter(needs_words, COMMANDS)) <= set(VALID) <= set(COMMANDS)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_no_value_is_taken_for_a_bug(
    capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None], name: str
) -> None:
    """Exit code 70 is for bugs, and whatever is typed is none."""
    codes = []
    for words in _inputs(name):
        codes.append((_left([*name.split(), *words]), words))
        capsys.readouterr()
    record_property("inputs", len(codes))
    record_property("exits of 70", sum(code == 70 for code, _ in codes))
    assert [(code, words) for code, words in codes if code not in {0, 1, 2, 3, 5}] == []
