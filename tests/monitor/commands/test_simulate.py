"""`tablewatch simulate`: what is shown, what is refused, and that its JSON is the published shape."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from tests.monitor.commands.terminal import CONFIG, NOW, Terminal

HOUR = timedelta(hours=1)
SPOILED = "UPDATE orders SET customer = NULL WHERE id = 1"
MENDED = "UPDATE orders SET customer = 'ann' WHERE id = 1"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the first test leaves the nine hours, so that they are played once."""
    return tmp_path_factory.mktemp("story") / "played"


@pytest.fixture
def played(terminal: Terminal, story: Path) -> Terminal:
    """Return a terminal with nine hours of checks: a NULL in the second run, and from the fourth to the sixth."""
    if story.exists():
        shutil.copytree(story, terminal.folder, dirs_exist_ok=True)
    else:
        for hour, letter in enumerate("PFPFFFPPP"):
            terminal.sql(SPOILED if letter == "F" else MENDED)
            with terminal.at(NOW + hour * HOUR):
                terminal("check", "orders")
        shutil.copytree(terminal.folder, story)
    terminal.now = NOW + 9 * HOUR
    return terminal


def test_the_published_shape(played: Terminal) -> None:
    """The JSON has figures of now and then, problems that differ, and what could be replayed."""
    value = played.json("simulate", "--open-after", "2", "--check", "orders.not-null")
    assert value["schema"] == "tablewatch.simulation/1"
    assert value["checks"] == [
        {"check_id": "orders.not-null", "changed": ["policy"], "skipped": None}
        | {"runs": 9, "recorded": 9, "bounded": 0, "unknown": 0}
    ]
    assert value["cover"] == {"share": 1.0, "runs": 9, "recorded": 9, "bounded": 0, "unknown": 0}
    assert value["reproduced"] == {"recorded": 1, "same": 1}
    downtime = played.json("downtime")
    assert {name: value["now"][name] for name in ("n", "undetected_h", "repair_h", "downtime_h")} == {
        name: downtime[name] for name in ("n", "undetected_h", "repair_h", "downtime_h")
    }
    assert value["now"]["cost"] == downtime["cost"]["amount"]
    effects = {item["effect"]: item for item in value["problems"]}
    assert effects.keys() == {"later"}
    assert effects["later"]["then_detected_at"]["earliest"] == (NOW + 4 * HOUR).isoformat()


def test_the_view_says_what_differs(played: Terminal) -> None:
    """A person sees now beside then, when each problem would have been noticed, and how much could be replayed."""
    said = played("simulate", "--schedule", "every 3h", "--check", "orders.not-null")
    assert said.code == 0, said.err
    for text in ("now", "then", "undetected", "downtime, repair as long", "orders.not-null", "as recorded"):
        assert text in said.out
    assert "runs" in said.out
    assert "replayed" in said.out


def test_a_proposal_that_changes_nothing_says_so(played: Terminal) -> None:
    """Where nothing differs, a line says so and what was compared, in JSON too."""
    words = ("simulate", "--schedule", "every 1h", "--check", "orders.not-null")
    lines = [" ".join(line.split()) for line in played(*words).out.splitlines()]
    text = "compared: noticed at the same times, with the same downtime, cost and messages"
    assert f"no difference 1 check, 9 runs, 1 problem, 0 messages {text}" in lines
    value = played.json(*words)
    assert value["differs"] is False
    assert value["compared"] == {"checks": 1, "runs": 9, "problems": 1, "messages": 0}


def test_nothing_recorded_and_nothing_replayed_say_so(played: Terminal) -> None:
    """A window before all incidents has none to compare, and a configuration that is the same no check."""
    early = played("simulate", "--open-after", "2", "--check", "orders.not-null", "--to", "2026-11-20T09:05").out
    assert "no incidents were recorded in this time" in early
    assert "no check was replayed" in played("simulate", "--with", "tablewatch.yaml").out


def test_another_configuration_is_compared_by_what_differs(played: Terminal) -> None:
    """Only checks of which something differs are replayed; one that is no longer there notices nothing."""
    text = CONFIG.replace("      - {type: not_null, columns: [customer]}\n", "")
    Path(played.folder, "other.yaml").write_text(text, encoding="utf-8")
    value = played.json("simulate", "--with", "other.yaml")
    assert [(check["check_id"], check["changed"]) for check in value["checks"]] == [("orders.not-null", ["removed"])]
    assert {item["effect"] for item in value["problems"]} == {"missed"}
    assert value["not_noticed"]["downtime_h"] == value["now"]["downtime_h"]
    played.json("simulate", "--with", "tablewatch.yaml")
    assert "changes none" in played("simulate", "--with", "tablewatch.yaml").err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "nothing to simulate"),
        (["--schedule", "sometimes"], "--schedule: expected a schedule such as"),
        (["--confirm", "0s"], "--confirm: expected a length"),
        (["--confirm", "soon"], "--confirm"),
        (["--confirm", "5m", "--open-after", "2"], "either --confirm or --open-after"),
        (["--schedule", "every 1s", "--from", "2026-01-01", "--check", "nothing"], "no table or check matches"),
        (["--with", "missing.yaml"], "missing.yaml"),
        (["--open-after", "2", "--from", "2027-01-01", "--to", "2027-02-01"], "the window has not begun"),
    ],
)
def test_what_cannot_be_simulated_is_refused(terminal: Terminal, words: list[str], text: str) -> None:
    """What was seen and what is expected is said, and nothing is replayed."""
    code = 5 if "nothing" in words else 2
    assert text in terminal.refused("simulate", *words, code=code)[0]["message"]


def test_a_schedule_with_millions_of_runs_is_refused(played: Terminal) -> None:
    """A schedule of seconds over years of results has more runs than can be replayed, and that is said."""
    played.now = NOW + timedelta(days=60)
    played("check", "orders")
    played.now += HOUR
    message = played.refused("simulate", "--schedule", "every 1s")[0]["message"]
    assert "at most 2,000,000" in message


def test_checks_without_results_say_so(terminal: Terminal) -> None:
    """What has no stored result is named with the reason, and nothing is made up for it."""
    value = terminal.json("simulate", "--open-after", "3", "--check", "refunds")
    assert value["checks"][0]["skipped"] == "no results are stored"
    assert value["cover"]["share"] is None
    assert (value["now"]["n"], value["problems"]) == (0, [])


def test_checks_that_are_not_replayed_are_counted_by_reason(terminal: Terminal) -> None:
    """A person sees one line for each reason, with the number and the first names; JSON names every check."""
    columns = "".join(f"      - {{type: not_null, columns: [id], id: c{number}}}\n" for number in range(5))
    old = "      - {type: not_null, columns: [customer]}\n"
    assert old in CONFIG
    Path(terminal.folder, "other.yaml").write_text(CONFIG.replace(old, columns), encoding="utf-8")
    lines = [line for line in terminal("simulate", "--with", "other.yaml").out.splitlines() if "not replayed" in line]
    assert [" ".join(line.split()) for line in lines] == [
        "not replayed 1 check, no results are stored: orders.not-null",
        "not replayed 5 checks, the check is new: orders.c0, orders.c1, orders.c2 and 2 more",
    ]
    checks = terminal.json("simulate", "--with", "other.yaml")["checks"]
    assert sum(check["skipped"] == "the check is new" for check in checks) == 5
