"""The examples for running the daemon are what they say."""

import configparser
import re
import shlex
from pathlib import Path

import yaml

from monitor.daemon.daemon import STOP_WITHIN

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


def test_containers_stop_the_same_way() -> None:
    """The compose file can be read, shares one PostgreSQL store, and gives the daemon time to stop."""
    services = yaml.safe_load((_FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert int(re.sub(r"\D", "", services["tablewatch"]["stop_grace_period"])) > STOP_WITHIN.total_seconds()
    assert services["tablewatch"]["environment"]["TABLEWATCH_STORAGE"].startswith("postgresql://")
    dockerfile = (_FOLDER / "Dockerfile").read_text(encoding="utf-8")
    assert 'CMD ["run", "-c", ' in dockerfile
    assert "USER tablewatch" in dockerfile
