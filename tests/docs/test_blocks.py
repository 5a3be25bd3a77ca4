"""The blocks of pages that no other test runs: configurations are loaded, commands and code are run."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
import yaml

from docs.audit import EVERYTHING_ELSE, ROOT, Block, blocks, pages
from monitor.cli import build_command, command_files
from monitor.config import load
from monitor.terminal.output import Invocation
from tests.monitor.commands.terminal import open_terminal

_SHELL: Final = ("", "sh", "console", "text")
_COMMAND: Final = re.compile(r"^(?:\$ )?tablewatch (?P<words>(?:.*\\\n)*.*)$", re.MULTILINE)
_ENDS: Final = {"|", ">", ">>", "&&", ";"}
BASE: Final = """\
version: 1
project: shop
timezone: Asia/Tokyo
storage: {url: "sqlite:///store.db"}
sources:
  shop: {url: "sqlite:///shop.sqlite", timezone: UTC}
  warehouse: {url: "sqlite:///shop.sqlite", timezone: UTC}
  chinook: {url: "sqlite:///shop.sqlite", timezone: UTC}
owners:
  {platform: {}, sales: {}, sales-team: {}, commerce: {}, crew: {}, shop: {}, privacy-desk: {}}
domains: {sales: {owner: commerce}, finance: {owner: platform}, payments: {owner: platform}}
cost: {currency: JPY, tiers: {gold: {per_hour: 100000}, silver: {per_hour: 12000}, bronze: {per_hour: 0}}}
tables:
  - name: sales.orders
    table: orders
    source: shop
    schedule: every 15m
    domain: sales
    tier: gold
    checks: [{type: not_null, columns: [id]}]
  - {name: orders, source: shop, domain: sales, tier: gold, checks: [{type: not_null, columns: [id]}]}
  - {name: customers, source: shop}
  - {name: crm.customers, table: customers, source: shop, tier: silver, columns: {id: direct-identifier}}
  - {name: sales.refunds, table: refunds, source: shop, domain: payments}
  - {name: patients, source: shop, tier: bronze}
slo: {"*": {ttd: 4h}}
products: {orders-360: {tables: [orders], owner: crew}}
"""
"""What pages refer to and a reader has by then: sources, owners, domains, tables, a product."""
CHANNELS: Final = """\
audit board-mail commerce consumers crew-mail data-team data_team finance-mail head_of_data lead-mail on_call
partner-mail sales-mail sales_chat team-mail"""


def _own(*kinds: str) -> list[Any]:
    """Return the blocks of some languages that are run here."""
    found = [(page, block) for page in pages() for block in blocks(page)]
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}:{block.line}")
        for page, block in found
        if block.kind in kinds and block.run_by == EVERYTHING_ELSE
    ]


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a block, without comments and what a shell does with its output."""
    for command in _COMMAND.finditer(text):
        words = shlex.split(command["words"].replace("\\\n", " "), comments=True)
        end = next((place for place, word in enumerate(words) if word in _ENDS), len(words))
        yield words[:end]


def parse(words: list[str]) -> None:
    """Parse a command without running it.

    Raises:
        Exception: wrong usage.
    """
    while words[0] in {"-c", "--config"}:
        words = words[2:]
    name, *rest = words
    if name.startswith("-"):
        return
    assert name in command_files(), name
    command, context = build_command(name), None
    while True:
        context = command.make_context(name, list(rest), parent=context, obj=Invocation())
        if not getattr(command, "commands", {}) or not rest:
            return
        if rest[0] not in command.commands:
            assert name in {"risk", "downtime"}, rest  # groups with something of their own to do
            return
        name, command, rest = rest[0], command.commands[rest[0]], rest[1:]


def test_every_command_of_a_page_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name, options and arguments are those of the product, also in a block that is not run."""
    monkeypatch.chdir(tmp_path)
    shells = (block for page in pages() for block in blocks(page) if block.kind in _SHELL)
    for words in dict.fromkeys(tuple(words) for block in shells for words in commands_in(block.text)):
        parse(list(words))


@pytest.mark.parametrize("block", _own("yaml"))
def test_a_configuration_of_a_page_can_be_loaded(block: Block, tmp_path: Path) -> None:
    """As it stands, or as a part of one that has what it refers to."""
    file = tmp_path / "tablewatch.yaml"
    text = dedent(block.text)
    if not re.search("^version: 1$", text, re.MULTILINE):
        text = yaml.safe_dump(_joined(yaml.safe_load(text)), sort_keys=False)
    (tmp_path / "teams" / "shop").mkdir(parents=True)
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "sex.csv").write_text("M;*\nF;*\n", encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    variables = dict.fromkeys(re.findall(r"\$\{([A-Z_]+)\}", text), "https://hooks.example.org/a")
    load(file, environment=variables)


_ORDERS: Final = """
ALTER TABLE orders ADD COLUMN sku TEXT;
WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO orders SELECT i, 'ann', 'sku-' || i FROM n;
UPDATE orders SET sku = 'sku-' || id;
"""


def reader() -> dict[str, Any]:
    """Return the configuration of a reader."""
    whole: dict[str, Any] = yaml.safe_load(BASE)
    address = "https://hooks.example.org/a"
    whole["alerts"] = {"channels": {name: {"webhook": {"url": address}} for name in CHANNELS.split()}}
    return whole


def _joined(part: Any) -> dict[str, Any]:
    """Return the configuration of a reader with a part that a page shows."""
    whole = reader()
    if isinstance(part, list):
        whole["tables"][0]["checks"] = part
        return whole
    for key, value in part.items():
        if key in {"routes", "channels"}:
            whole["alerts"][key] = value
        elif key == "alerts" and "channels" in value:
            whole[key] = {**value, "channels": {**whole[key]["channels"], **value["channels"]}}
        elif isinstance(value, dict) and isinstance(whole.get(key), dict):
            whole[key] = {**whole[key], **value}
        elif key == "checks":
            whole["tables"][0][key] = value
        elif key == "tables":
            names = [table.get("name") for table in value]
            whole[key] = [*value, *(table for table in whole[key] if table["name"] not in names)]
        else:
            whole[key] = value
    return whole


@pytest.mark.parametrize("block", _own("", "sh", "console", "text"))
def test_the_commands_of_a_page_run(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, in a shop with what pages refer to; each is one, and none is wrong usage."""
    monkeypatch.chdir(tmp_path)
    terminal = open_terminal(tmp_path, capsys)
    _write(reader())
    terminal.sql("CREATE TABLE customers (id INTEGER); INSERT INTO customers VALUES (1);" + _ORDERS)
    people = _people()
    people.to_csv("people.csv", index=False)
    Path("hierarchies").mkdir()
    for name in ("age", "zip", "sex"):
        lines = [f"{value};*\n" for value in people[name].unique()]
        Path("hierarchies", f"{name}.csv").write_text("".join(lines), encoding="utf-8")
    Path("gx/expectations").mkdir(parents=True)
    ran = 0
    for words in commands_in(block.text):
        if words[-1].endswith(".pdf"):  # a browser prints it: tests/monitor/reporting/test_pdf.py
            continue
        done = terminal(*words, *(["--source", "sqlite:///shop.sqlite", "--force"] if words[0] == "init" else []))
        assert done.code in {0, 1}, (words, done.err + done.out)
        if words[0] == "init":
            _write(reader())
        ran += 1
    assert ran


def _write(config: Mapping[str, Any]) -> None:
    Path("tablewatch.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def _people() -> pd.DataFrame:
    """Return the table that pages call `people`, with 400 rows."""
    random = np.random.default_rng(39)
    return pd.DataFrame(
        {
            "age": random.integers(18, 80, 400),
            "zip": random.choice(["10117", "10243", "20095", "20144"], 400),
            "sex": random.choice(["F", "M"], 400),
            "born": random.integers(1930, 2009, 400),
            "income": random.integers(1000, 9000, 400),
            "tenure": random.integers(0, 30, 400),
        }
    )


@pytest.mark.parametrize("block", _own("python"))
def test_the_code_of_a_page_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the frames that its page speaks of."""
    monkeypatch.chdir(tmp_path)
    orders = pd.DataFrame({"id": [1, 2], "amount": [12.5, 8]})
    people = _people()
    names = {"orders": orders, "frame": people, "X": people[["age", "income"]].to_numpy(float)}
    if "gender" in block.text:
        ages = ["<18", "18-24", "25-34", "35-44", "45-49", "50-55", "56+"] * 60
        names["frame"] = pd.DataFrame({"gender": people["sex"], "age": ages[: len(people)]})
    exec(compile(block.text, "page", "exec"), names)  # noqa: S102 - our own page


@pytest.mark.parametrize("block", _own("json"))
def test_json_of_a_page_can_be_read(block: Block) -> None:
    """It is one value."""
    json.loads(block.text)
