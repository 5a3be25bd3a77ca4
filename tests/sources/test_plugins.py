"""Checks, channels and sources of other distributions, as `examples/plugin` shows them."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_CONFIG = """\
version: 1
project: shop
sources: {shop: {url: "sqlite:///shop.db"}}
alerts: {channels: {lines: {WORD: {path: "secret.log"}}}}
tables:
  - {name: parcels, source: shop, checks: [{type: not_null, columns: [label]}, {type: TYPE, column: label, most: 5}]}
"""


class Site:
    """A folder with a distribution, and a project beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        connection = sqlite3.connect(folder / "shop.db")
        connection.executescript(
            "CREATE TABLE parcels (label TEXT); INSERT INTO parcels VALUES ('short'), ('too long')"
        )
        connection.close()

    def install(self, code: str, **entries: str) -> None:
        """Install a module `parcels` with entry points, by group."""
        (self.folder / "parcels.py").write_text(code, encoding="utf-8")
        info = self.folder / "parcels-2.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parcels\nVersion: 2.1\n", encoding="utf-8")
        lines = [f"[tablewatch.{group}]\n{entry}\n" for group, entry in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

    def configure(self, *, channel: str = "apprise", check: str = "unique") -> None:
        """Write the configuration."""
        text = _CONFIG.replace("WORD", channel).replace("TYPE", check)
        (self.folder / "tablewatch.yaml").write_text(text, encoding="utf-8")

    def run(self, *words: str) -> Any:
        """Run a command, and read what it says to programs."""
        path = os.pathsep.join([str(_ROOT), str(self.folder)])
        command = [sys.executable, "-m", "monitor", *words, "--format", "json"]
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        return json.loads(done.stdout)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a folder without a distribution."""
    return Site(tmp_path)


def test_the_example_is_what_its_documentation_says(site: Site) -> None:
    """Its check runs, its channel is one, and doctor names both with their version."""
    example = _ROOT / "examples" / "plugin" / "tablewatch_example"
    code = "\n".join((example / f"{name}.py").read_text(encoding="utf-8") for name in ("checks", "channels"))
    site.install(code, checks="text_length = parcels:TextLength", channels="log_file = parcels:LogFileKind")
    site.configure(channel="log_file", check="text_length")
    _, result = site.run("check")["results"]
    assert (result["status"], result["observed"]["violations"]) == ("fail", 1)
    assert site.run("config", "check")["ok"] is True
    findings = [item for item in site.run("doctor")["findings"] if item["subject"] == "plugins"]
    assert [(item["verdict"], item["message"]) for item in findings] == [
        ("ok", "check 'text_length' of parcels 2.1"),
        ("ok", "channel 'log_file' of parcels 2.1"),
    ]


def test_what_cannot_be_loaded_costs_only_itself(site: Site) -> None:
    """Its check is unknown with the reason, its channel an error of `config check`, and all else works."""
    site.install(
        "raise KeyError('odd')", checks="text_length = parcels:TextLength", channels="log_file = parcels:LogFileKind"
    )
    site.configure(channel="log_file", check="text_length")
    own, other = site.run("check")["results"]
    assert own["status"] == "pass"
    assert (other["status"], other["reason"]) == ("unknown", "misconfigured")
    why = "check 'text_length' of parcels 2.1 cannot be loaded (KeyError: 'odd')"
    assert why in other["message"]
    (error,) = site.run("config", "check")["errors"]
    assert "channel 'log_file' of parcels 2.1 cannot be loaded" in error["message"]
    assert "secret.log" not in json.dumps(site.run("config", "show"))
    verdicts = [item["verdict"] for item in site.run("doctor")["findings"] if item["subject"] == "plugins"]
    assert verdicts == ["error", "error"]


def test_names_of_tablewatch_stay_its_own(site: Site) -> None:
    """A check of another distribution with the name of one of ours is refused; ours runs."""
    site.install(
        "raise SystemExit", checks="not_null = parcels:X", channels="slack = parcels:X", sources="sqlite = parcels:X"
    )
    site.configure(check="unique")
    text = (site.folder / "tablewatch.yaml").read_text(encoding="utf-8")
    text = text.replace("{type: unique, column: label, most: 5}", "{type: unique, columns: [label]}")
    (site.folder / "tablewatch.yaml").write_text(text.replace('{path: "secret.log"}', '"json://localhost"'), "utf-8")
    assert [item["status"] for item in site.run("check")["results"]] == ["pass", "pass"]
    findings = [item for item in site.run("doctor")["findings"] if item["subject"] == "plugins"]
    assert [item["verdict"] for item in findings] == ["error"] * 3
    assert findings[0]["message"] == (
        "check 'not_null' of parcels 2.1 has the name of one of Tablewatch, which stays; it needs another name"
    )


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"checks": "text_length = parcels:len"}, "is no CheckParameters with a type of this name"),
        ({"channels": "log_file = parcels:len"}, "is no ChannelKind"),
        ({"channels": "log_file = parcels:nothing"}, "cannot be loaded (AttributeError"),
    ],
)
def test_what_is_something_else_is_named(site: Site, entries: dict[str, str], message: str) -> None:
    """An entry point that leads to something else, or to nothing, says so."""
    site.install("len = len", **entries)
    (finding,) = (item for item in site.run("doctor")["findings"] if item["subject"] == "plugins")
    assert (finding["verdict"], message in finding["message"]) == ("error", True), finding
