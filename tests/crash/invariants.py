"""What must hold of a store after any crash, asked with plain SQL of a copy of the files that the crash left.

The store itself is not touched, so that the next life finds it as the crash left it, log and all.
"""

import json
import shutil
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from store import open_store
from tests.crash.places import Endpoint, body_of

_US = 1_000_000


@dataclass
class Seen:
    """What the lives acknowledged, and where the clock was set back: the outside view, which no crash changes.

    `cuts`: the last numbers of slots and skips when the clock was set back.
    """

    acknowledged: list[list[str]] = field(default_factory=list)
    cuts: list[tuple[int, int]] = field(default_factory=list)


class Remains:
    """A copy of what a crash left of a store."""

    def __init__(self, store: Path) -> None:
        self._folder = store.parent / "remains"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        for end in ("", "-wal", "-journal"):
            part = Path(f"{store}{end}")
            if part.exists():
                shutil.copyfile(part, self._folder / part.name)
        self.file = self._folder / store.name

    def ask(self, question: str) -> list[tuple]:
        """Ask with SQL."""
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(question).fetchall()

    def number(self, question: str) -> int:
        """Ask for one number."""
        ((found,),) = self.ask(question)
        return found or 0

    def last_numbers(self) -> tuple[int, int]:
        """Return the last numbers of slots and of skips."""
        return self.number("SELECT max(id) FROM slot"), self.number("SELECT max(id) FROM skip")

    def are_sound(self) -> None:
        """Claim what holds after every crash, whatever the process was at."""
        assert self.ask("PRAGMA integrity_check") == [("ok",)]
        assert self.ask("PRAGMA foreign_key_check") == []
        twice = "SELECT fingerprint FROM incident WHERE state <> 'resolved' GROUP BY fingerprint HAVING count(*) > 1"
        assert self.ask(twice) == [], "two open incidents for one check"
        stray = "SELECT id FROM measurement WHERE run NOT IN (SELECT number FROM run)"
        assert self.ask(stray) == [], "measurements without their run"
        lost = "SELECT id FROM slot WHERE state = 'done' AND run_id NOT IN (SELECT id FROM run)"
        assert self.ask(lost) == [], "slots that are done, without the run that came of them"
        unsaid = "SELECT incident_id FROM told WHERE delivery_id NOT IN (SELECT id FROM delivery)"
        assert self.ask(unsaid) == [], "a channel is said to know what was never written to it"
        unheard = (
            "SELECT id FROM incident WHERE id NOT IN (SELECT incident_id FROM transition WHERE incident_id IS NOT NULL)"
            " UNION ALL SELECT id FROM warning WHERE id NOT IN (SELECT warning_id FROM transition WHERE warning_id > 0)"
        )
        assert self.ask(unheard) == [], "an incident or a warning that will never be notified"
        stories: dict[tuple[str, str], list[str]] = {}
        for (payload,) in self.ask("SELECT payload FROM delivery WHERE subject = 'incidents' ORDER BY number"):
            for each in json.loads(payload)["warnings"]:
                stories.setdefault((each["series"], each["began_at"]), []).append(each["reason"])
        wrong = {story for story in map(tuple, stories.values()) if story not in {("first",), ("first", "resolved")}}
        assert wrong == set(), "a warning was notified twice, or its end alone"

    def fold(self) -> None:
        """Claim that the incidents are what their events amount to."""
        with open_store(f"sqlite:///{self.file}") as store:
            assert list(store.rebuild_check()) == []

    def hold(self, acknowledged: Iterable[list[str]]) -> None:
        """Claim that everything that was acknowledged is there, once, as it was acknowledged."""
        lost, doubled = self.count(acknowledged)
        assert (lost, doubled) == (0, 0), f"{lost} acknowledged results are lost, {doubled} are there more than once"

    def count(self, acknowledged: Iterable[list[str]]) -> tuple[int, int]:
        """Return how many acknowledged results are lost, and how many are there more than once."""
        asked = (
            "SELECT check_id, measured_us, status, count(*) FROM measurement JOIN series ON series.id = series"
            " GROUP BY 1, 2, 3"
        )
        kept = {(check, str(at), status): times for check, at, status, times in self.ask(asked)}
        found = [kept.get((check, at, status), 0) for check, at, status, _ in acknowledged]
        return found.count(0), sum(times > 1 for times in found)

    def leave_no_gap(self, cuts: Collection[tuple[int, int]] = (), *, every_s: int = 1) -> int:
        """Claim that every slot is run or skipped, and none both, from the first to the last; give how many."""
        regular = f"SELECT table_name, slot_us, slot_us, 1, id, 0 FROM slot WHERE slot_us % {every_s * _US} = 0"
        slots = self.ask(regular)  # a retry is a slot beside them
        skips = self.ask("SELECT table_name, first_us, last_us, count, id, 1 FROM skip")
        spans: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
        for table, first, last, count, number, kind in [*slots, *skips]:
            stretch = sum(number > cut[kind] for cut in cuts)
            spans.setdefault((table, stretch), []).append((first, last, count))
        step = every_s * _US
        for (table, _), found in spans.items():
            found.sort()
            assert all(count == (last - first) // step + 1 for first, last, count in found), table
            wrong = [(one, two) for one, two in pairwise(found) if two[0] - one[1] != step]
            assert wrong == [], f"slots of {table} that were neither run nor skipped, or both: {wrong[:3]}"
        return sum(count for found in spans.values() for _, _, count in found)

    def match(self, endpoint: Endpoint) -> None:
        """Claim that the other end got nothing but messages of the store, each with the body that is in it."""
        stored = {name: body_of(json.loads(payload)) for name, payload in self.ask("SELECT id, payload FROM delivery")}
        assert endpoint.taken.keys() <= stored.keys(), "messages under ids that are not in the store"
        changed = [name for name, bodies in endpoint.taken.items() if bodies != {stored[name]}]
        assert changed == [], "a message was repeated under its id with another body"
        sent = {name for (name,) in self.ask("SELECT id FROM delivery WHERE state = 'sent'")}
        assert sent <= endpoint.taken.keys(), "a message counts as sent that was not received"
        assert endpoint.forged == 0

    def are_told(self, endpoint: Endpoint) -> None:
        """Claim that nothing waits to be said: every change is decided on, every message arrived."""
        waiting = self.number("SELECT count(*) FROM transition WHERE settled_us IS NULL")
        assert waiting == 0, f"{waiting} changes wait"
        assert self.ask("SELECT state, count(*) FROM delivery WHERE state <> 'sent' GROUP BY 1") == []
        written = {name for (name,) in self.ask("SELECT id FROM delivery")}
        assert written == endpoint.taken.keys()
        query = "SELECT id FROM incident WHERE flapping = 0 AND id NOT IN (SELECT incident_id FROM told)"
        silent = {number for (number,) in self.ask(query)}
        decided = self.ask("SELECT incident_id, decision FROM transition")
        explained = {number for number, decision in decided if decision is not None and "why" in decision}
        assert silent <= explained, "incidents without a notification, without a reason"

    def tell_the_truth(self, bad: Mapping[str, bool]) -> None:
        """Claim that the incidents that are open are those of the tables that are bad now."""
        open_now = "SELECT table_name FROM incident WHERE state <> 'resolved' AND check_id LIKE '%primary-key'"
        wrong = {name for (name,) in self.ask(open_now)} ^ {name for name, is_bad in bad.items() if is_bad}
        last = "SELECT check_id, last_status, last_run_us FROM check_state WHERE check_id LIKE '%primary-key'"
        assert wrong == set(), f"of {wrong} the incidents are not what the tables are: {bad}, {self.ask(last)}"

    def warn_of(self, tables: Collection[str]) -> None:
        """Claim that the warnings that last are those of these tables, and that the channel knows of each of them."""
        assert {name for (name,) in self.ask("SELECT table_name FROM warning WHERE ended_us IS NULL")} == set(tables)
        query = "SELECT warning_id, change, decision FROM transition WHERE warning_id IN (SELECT id FROM warning)"
        stories: dict[int, set[str]] = {}
        for number, change, decision in self.ask(query):
            if json.loads(decision)["channels"]["hook"]["action"] == "told":
                stories.setdefault(number, set()).add(change)
        ended = {number: end is not None for number, end in self.ask("SELECT id, ended_us FROM warning")}
        lasting = {number for number, is_over in ended.items() if not is_over}
        assert lasting <= stories.keys(), "a warning lasts without a notification"
        deaf = [number for number, story in stories.items() if ended[number] and "resolved" not in story]
        assert deaf == [], "warnings whose beginning was notified, and not their end"


def columns_of(file):
    """Return the columns of every table but the revision: a migration may add others."""
    with closing(sqlite3.connect(file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {
            name: [column for (column,) in connection.execute(f"SELECT name FROM pragma_table_info('{name}')")]
            for name in tables
            if name != "store_revision"
        }


def rows_of(file, columns=None):
    """Return the rows of every table as texts in order; `columns`: of these tables and columns alone."""
    columns = columns or {**columns_of(file), "store_revision": ["*"]}
    with closing(sqlite3.connect(file)) as connection:
        return {
            name: sorted(map(repr, connection.execute(f"SELECT {', '.join(several)} FROM {name}")))
            for name, several in columns.items()
        }
