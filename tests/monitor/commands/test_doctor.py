"""`tablewatch doctor`."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from checks import Status
from monitor.cli import run
from monitor.config import load
from monitor.doctor.diagnosis import (
    _dependencies,
    _packages,
    _python,
    examine_clock,
    examine_files,
    examine_sources,
    examine_store,
)
from monitor.doctor.finding import Finding, FindingStatus
from monitor.terminal.output import Invocation
from store import open_store
from tests.store.made import AT, HOUR, measure, opened

_NOW = datetime(2226, 11, 9, 9, 0, tzinfo=UTC)
_CONFIG = """\
version: 1
project: shop
storage: {url: "sqlite:///store.db"}
sources:
  shop: {url: "sqlite:///shop.db"}
tables:
  - {name: orders, source: shop, checks: [{type: not_null, columns: [id]}]}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a configuration and the database that it watches."""
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    (tmp_path / "tablewatch.yaml").write_text(_CONFIG, encoding="utf-8")
    (tmp_path / "tablewatch.yaml").chmod(0o644)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _doctor(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    code = run(["doctor", "--format", "json", *words], Invocation())
    value = json.loads(capsys.readouterr().out)
    assert value["exit_code"] == code
    by_subject: dict[str, list[dict[str, Any]]] = {}
    for finding in value["findings"]:
        by_subject.setdefault(finding["subject"], []).append(finding)
    return code, by_subject


def _verdicts(findings: Sequence[Finding]) -> list[FindingStatus]:
    return [finding.verdict for finding in findings]


def test_a_sound_configuration_is_told_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything about configuration, store, sources and clock is ok; nothing is made on the way."""
    code, found = _doctor(capsys=capsys)
    verdicts = {subject: [one["verdict"] for one in ones] for subject, ones in found.items()}
    assert code in {0, 3}  # 3 in a checkout that is not installed, where the requirements are not on record
    for subject in ("configuration", "clock", "files", "store", "source shop", "packages"):
        assert verdicts[subject] == ["ok"], found[subject]
    assert not (here / "store.db").exists()


def test_a_person_sees_words_not_only_colours(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line begins with its verdict."""
    (here / "shop.db").unlink()
    assert run(["doctor"], Invocation()) == 1
    out = capsys.readouterr().out
    assert "ERROR   source shop" in out
    assert "OK      packages" in out


def test_what_is_wrong_leaves_with_1(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing database, or a table that is not in it, is an error that names it."""
    (here / "tablewatch.yaml").write_text(_CONFIG.replace("name: orders", "name: ordrs"), encoding="utf-8")
    code, found = _doctor(capsys=capsys)
    assert code == 1
    assert "did you mean 'orders'?" in found["source shop"][0]["message"]


def test_a_broken_configuration_is_a_finding(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The doctor goes on where other commands stop."""
    (here / "tablewatch.yaml").write_text(_CONFIG.replace("source: shop", "source: x, owner: y"), encoding="utf-8")
    code, found = _doctor(capsys=capsys)
    assert code == 1
    assert found["configuration"][0]["message"] == "unknown source 'x' (and 1 more)"
    assert "packages" in found


def test_without_a_configuration_only_the_installation_is_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without a configuration is a warning; a named file that is not there is an error."""
    monkeypatch.chdir(tmp_path)
    _, found = _doctor(capsys=capsys)
    assert found["configuration"][0]["verdict"] == "warning"
    code, found = _doctor("-c", "none.yaml", capsys=capsys)
    assert (code, found["configuration"][0]["verdict"]) == (1, "error")


def test_the_store_is_examined_as_a_whole(here: Path) -> None:
    """A store that is there is opened and compared with its events; one that is damaged is an error."""
    loaded = load(here / "tablewatch.yaml")
    open_store("sqlite:///store.db").close()
    assert [one.verdict for one in examine_store(loaded, _NOW) if isinstance(one, Finding)] == [FindingStatus.OK]
    (here / "store.db").write_bytes(b"no database at all, but some text of more than one hundred bytes" * 20)
    (finding,) = examine_store(loaded, _NOW)
    assert isinstance(finding, Finding)
    assert finding.verdict is FindingStatus.ERROR


def test_a_large_store_is_examined_where_it_changed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second look names since when it looked, and how to look at everything."""
    monkeypatch.setattr("store._rebuild._FEW", 0)
    loaded = load(here / "tablewatch.yaml")
    with open_store("sqlite:///store.db") as store, store.writing() as tx:
        tx.schedule.keep_time(AT)
        tx.incidents.open(opened("orders.1"), recorded_at=AT, actor="mia")
    first, second, third = (
        next(one for one in examine_store(loaded, _NOW, everything=everything) if isinstance(one, Finding))
        for everything in (False, False, True)
    )
    assert "is intact and consistent with its events" in first.message
    assert f"1 incident with events since {_NOW:%Y-%m-%d %H:%MZ} agrees with them" in second.message
    assert second.hint is not None
    assert "doctor --full" in second.hint
    assert third == first


def test_the_space_of_results_follows_from_the_last_day(here: Path) -> None:
    """Results of the last 24 hours, times the days that they are kept, times the bytes of one."""
    loaded = load(here / "tablewatch.yaml")
    with open_store("sqlite:///store.db") as store:
        before = _NOW - timedelta(days=2)
        measure(store, *((before - number * HOUR, Status.PASS) for number in range(5)))
        assert not [one for one in examine_store(loaded, _NOW) if isinstance(one, Finding) and one.subject == "disk"]
        measure(store, *((_NOW - (number + 1) * HOUR / 60, Status.PASS) for number in range(200)))
    (finding,) = [one for one in examine_store(loaded, _NOW) if isinstance(one, Finding) and one.subject == "disk"]
    assert finding.message == "200 results in the last 24 hours: at this rate the results of 100d take about 3 MB"


def test_a_store_in_which_nothing_fits_is_described_in_few_lines(here: Path) -> None:
    """Ten incidents that do not match their events are named; of the others it is said how many there are at least."""
    with open_store("sqlite:///store.db") as store, store.writing() as tx:
        for number in range(120):
            tx.incidents.open(opened(f"orders.{number}"), recorded_at=AT, actor="mia")
    with sqlite3.connect(here / "store.db") as connection:
        connection.execute("UPDATE incident SET assignee = 'nobody'")
    connection.close()
    *named, last = (one for one in examine_store(load(here / "tablewatch.yaml"), _NOW) if isinstance(one, Finding))
    assert [one.message.split(" does")[0] for one in named] == [f"incident {number}" for number in range(1, 11)]
    assert last.message == "at least 90 further incidents do not match their events"


def test_an_unreachable_source_is_an_error(here: Path) -> None:
    """The source's own words are reported."""
    (here / "shop.db").unlink()
    (finding,) = examine_sources(load(here / "tablewatch.yaml"))
    assert (finding.subject, finding.verdict) == ("source shop", FindingStatus.ERROR)
    assert "shop.db" in finding.message


def test_files_that_others_may_change_or_read(here: Path) -> None:
    """A configuration that all users may write is an error; a readable one that holds a password is a warning."""
    path = here / "tablewatch.yaml"
    assert _verdicts([*examine_files(load(path))]) == [FindingStatus.OK]
    path.chmod(0o646)
    assert _verdicts([*examine_files(load(path))]) == [FindingStatus.ERROR]
    path.chmod(0o644)
    secret = _CONFIG.replace("sqlite:///shop.db", "postgresql://me:secret@host/db")
    path.write_text(secret, encoding="utf-8")
    assert _verdicts([*examine_files(load(path))]) == [FindingStatus.WARNING]
    path.write_text(secret.replace("secret", "${PW}"), encoding="utf-8")
    assert _verdicts([*examine_files(load(path, environment={"PW": "x"}))]) == [FindingStatus.OK]


def test_a_clock_that_went_back_is_an_error() -> None:
    """A clock behind the newest stored run, or behind the installation, makes times dishonest."""
    assert _verdicts([*examine_clock(_NOW, None)]) == [FindingStatus.OK]
    assert _verdicts([*examine_clock(_NOW, _NOW + timedelta(minutes=4))]) == [FindingStatus.OK]
    assert _verdicts([*examine_clock(_NOW, _NOW + timedelta(minutes=6))]) == [FindingStatus.ERROR]
    (finding,) = examine_clock(datetime(2001, 1, 1, tzinfo=UTC), None)
    assert "2001-01-01 00:00Z, but tablewatch was installed at" in finding.message


@pytest.mark.parametrize(
    ("line", "verdict", "said"),
    [
        ("packaging>=1", FindingStatus.OK, "1 requirement satisfied"),
        ("packaging>=9999", FindingStatus.ERROR, "is installed, >=9999 is needed"),
        ("no-such-distribution-anywhere", FindingStatus.ERROR, "is not installed"),
        ("no-such-distribution-anywhere; extra == 'spark'", FindingStatus.OK, "0 requirements satisfied"),
        ("no-such-distribution-anywhere; python_version < '3'", FindingStatus.OK, "0 requirements satisfied"),
    ],
)
def test_requirements_are_compared_with_what_is_installed(line: str, verdict: FindingStatus, said: str) -> None:
    """A dependency outside its bounds or missing is an error; extras that are not used are not."""
    (finding,) = _dependencies([Requirement(line)])
    assert finding.verdict is verdict
    assert said in finding.message


def test_python_is_compared_with_the_bound() -> None:
    """A Python that is too old is an error."""
    assert _python(">=3.11").verdict is FindingStatus.OK
    assert _python(">=9").verdict is FindingStatus.ERROR


def test_another_owner_of_a_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with a package of the same name as one of ours is an error, even when it does not win."""
    (finding,) = _packages(owner=None)
    assert finding.verdict is FindingStatus.OK
    record = tmp_path / "strange_thing-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-thing\nVersion: 1\n", encoding="utf-8")
    (record / "RECORD").write_text("store/__init__.py,,\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    (finding,) = _packages(owner=None)
    assert (finding.verdict, finding.message) == (FindingStatus.ERROR, "package 'store' also belongs to strange-thing")
    assert [package.verdict for package in _packages(owner="strange-thing")] == [FindingStatus.OK]


def test_settings_of_channels_are_examined(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot work is named without being shown; what may work is counted."""
    channel = "alerts: {channels: {pager: {pagerduty: {routing_key: KEY}}}}\n"
    for key, verdict, text in (("hidden", "error", "this one has 6"), ("f" * 32, "ok", "1 channel understood")):
        (here / "tablewatch.yaml").write_text(_CONFIG + channel.replace("KEY", key), encoding="utf-8")
        _, found = _doctor(capsys=capsys)
        assert [one["verdict"] for one in found["channels"]] == [verdict]
        assert text in found["channels"][0]["message"]
        assert key not in json.dumps(found)
