"""A daemon that starts with a clock that is years ahead."""

import signal
from pathlib import Path

import pytest

from tests.monitor.daemon.running import Place

_AHEAD = """
import time_machine
from datetime import UTC, datetime, timedelta
time_machine.travel(datetime.now(UTC) + timedelta(days=2000)).start()
"""


@pytest.mark.parametrize("command", ["check", "run --once"])
def test_it_deletes_nothing_until_a_person_confirms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Runs stay, the log and doctor say what waits and why; after a person confirmed they go, with their number."""
    place = Place(tmp_path)
    for _ in range(2):
        assert place.command("check").returncode == 0
    newest = place.number("SELECT max(number) FROM run")
    of_before = f"SELECT count(*) FROM run WHERE number <= {newest}"
    assert place.number(of_before) == 2
    (tmp_path / "sitecustomize.py").write_text(_AHEAD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with place.daemon() as daemon:
        line = daemon.says("is not deleted")
        daemon.tell(signal.SIGTERM)
        assert daemon.ends() == 0
    assert "up to 2 runs, 0 incidents" in line
    assert "2000.0 days after the last time that can be trusted" in line
    assert "is not deleted" not in place.command("check").stderr, "it was said today"
    result = place.command("doctor").stdout
    assert "WARNING retention" in result
    assert "--confirm-clock" in result
    assert place.number(of_before) == 2
    assert "confirmed: it is 20" in place.command("doctor", "--confirm-clock").stderr
    assert "deleted by age: 2 runs, 2 measurements" in place.command(*command.split()).stderr
    assert place.number(of_before) == 0
