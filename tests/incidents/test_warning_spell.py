"""A spell of warnings: from the first warn to so many passes in a row, whatever comes in between."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Kind, Message, Outcome, Severity, Status, UnknownReason
from incidents import Identity, Policy, RunTimes, follow_warning

START = datetime(2026, 11, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
DEFAULT = Policy()
STATUS = {"P": Status.PASS, "W": Status.WARN, "F": Status.FAIL, "U": Status.UNKNOWN}


def _spells(runs, *, policy=DEFAULT, incidents=(), severity=Severity.ERROR):
    """Return where spells begin and end, as numbers of runs; None for one that lasts."""
    spell, results = None, []
    for number, letter in enumerate(runs):
        at = START + number * HOUR
        reason = UnknownReason.TIMEOUT if letter == "U" else None
        outcome = Outcome(STATUS[letter], Message("{n:count} rows", {"n": number}), reason=reason)
        spell = follow_warning(
            spell,
            outcome,
            identity=Identity("t.c", "t", "t.c", Kind.QUALITY, severity),
            policy=policy,
            run=RunTimes(at, at),
            has_incident=number in incidents,
        )
        if spell is not None and spell.ended_at is not None:
            results.append(((spell.began_at - START) // HOUR, (spell.ended_at - START) // HOUR))
            spell = None
    return [*results, ((spell.began_at - START) // HOUR, None)] if spell is not None else results


@pytest.mark.parametrize(
    ("runs", "spells"),
    [
        ("PWWPP", [(1, 3)]),
        ("WPWPP", [(0, 3)]),
        ("WPUP", [(0, 1)]),
        ("WFPFPP", [(0, 4)]),
        ("FFPP", []),
        ("UUU", []),
        ("WPPWP", [(0, 1), (3, None)]),
    ],
)
def test_a_spell_ends_with_two_passes_in_a_row(runs, spells):
    """It ends at the first of them; a fail or another warn begins the count again, and unknown proves nothing."""
    assert _spells(runs) == spells


def test_a_spell_does_not_end_before_it_began():
    """Where the clock was set back, the passing runs are earlier than its beginning, which stays."""
    spell = None
    for letter, at in (("W", START), ("P", START - 2 * HOUR), ("P", START - HOUR)):
        outcome = Outcome(STATUS[letter], Message("rows"))
        identity = Identity("t.c", "t", "t.c", Kind.QUALITY, Severity.ERROR)
        run = RunTimes(at, at)
        spell = follow_warning(spell, outcome, identity=identity, policy=DEFAULT, run=run, has_incident=False)
    assert (spell.began_at, spell.ended_at) == (START, START)


def test_no_spell_begins_while_an_incident_lasts_or_where_warnings_open_incidents():
    """An incident tells of it already."""
    assert _spells("WW", incidents={0}) == [(1, None)]
    assert _spells("WW", policy=Policy(warn_opens=True)) == []


@given(st.text("PWFU", max_size=60), st.integers(1, 4))
def test_spells_are_those_of_an_independent_reading(runs, resolve_after):
    """With unknown runs left out, a spell ends at the first run of the first `resolve_after` passes after its warn."""
    places = [place for place, letter in enumerate(runs) if letter != "U"]
    letters = "".join(runs[place] for place in places)
    expected, at = [], 0
    while (begin := letters.find("W", at)) >= 0:
        end = letters.find("P" * resolve_after, begin)
        expected.append((places[begin], None if end < 0 else places[end]))
        if end < 0:
            break
        at = end + resolve_after
    assert _spells(runs, policy=Policy(resolve_after=resolve_after)) == expected
