"""The examples for running the daemon are what they say."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from docs.refresh import ROOT
from monitor.daemon.daemon import STOP_WITHIN
from tests.docs.test_blocks import parse

_FOLDER = Path(__file__).resolve().parents[2] / "examples" / "daemon"


def _unit() -> dict[str, str]:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign] - systemd's keys have capitals
    parser.read(_FOLDER / "tablewatch.service", encoding="utf-8")
    return dict(parser["Service"])


def test_systemd_waits_for_longer_than_the_daemon_takes_to_stop() -> None:
    """It is not killed while it gives back what is in hand, and its workers are left to it."""
    unit = _unit()
    assert int(unit["TimeoutStopSec"]) > STOP_WITHIN.total_seconds()
    assert (unit["Type"], unit["KillMode"], unit["Restart"]) == ("notify", "mixed", "always")
    assert shlex.split(unit["ExecStart"])[1:3] == ["run", "-c"]


@pytest.mark.systemd
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Every key is one that it knows; only the program is another, as none is installed in /opt."""
    text = (_FOLDER / "tablewatch.service").read_text(encoding="utf-8")
    unit = tmp_path / "tablewatch.service"
    unit.write_text(text.replace("/opt/tablewatch/bin/tablewatch", sys.executable), encoding="utf-8")
    done = subprocess.run(
        [shutil.which("systemd-analyze") or "", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_containers_stop_the_same_way() -> None:
    """The compose file can be read, shares one PostgreSQL store, and gives the daemon time to stop."""
    services = yaml.safe_load((_FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert int(re.sub(r"\D", "", services["tablewatch"]["stop_grace_period"])) > STOP_WITHIN.total_seconds()
    assert services["tablewatch"]["environment"]["TABLEWATCH_STORAGE"].startswith("postgresql://")
    dockerfile = (_FOLDER / "Dockerfile").read_text(encoding="utf-8")
    assert 'CMD ["run", "-c", ' in dockerfile
    assert "USER tablewatch" in dockerfile
    for words in (["run", "-c", "/config/tablewatch.yaml"], services["pages"]["command"]):
        parse(words)
    assert services["pages"]["environment"] == services["tablewatch"]["environment"]


def test_the_layers_have_what_the_project_names() -> None:
    """The lower one has each dependency and those of the extras, so that the upper one is the product alone."""
    layers = ["sh", str(_FOLDER / "layers.sh")]
    plain = {name: value for name, value in os.environ.items() if name != "EXTRAS"}  # make has one of that name
    done = subprocess.run([*layers, "requirements"], capture_output=True, text=True, check=True, env=plain)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert {*project["dependencies"], *extras["apprise"], *extras["postgres"], *extras["web"]} <= set(
        done.stdout.splitlines()
    )
    dockerfile = (_FOLDER / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"layers\.sh (\w+) /opt", dockerfile) == ["dependencies", "product"]
    wrong = subprocess.run([*layers, "all"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, "'all' is none of" in wrong.stderr) == (2, True)
