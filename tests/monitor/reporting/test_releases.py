"""The section on releases: how they stand, why, and what was given out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from checks import Message, UnknownReason
from incidents import NOT_RUN
from monitor.config import Release
from monitor.releases.overview import HoldingCheck, ReleaseState, ReleaseWord
from monitor.releases.state import standing
from monitor.reporting.build import window_of
from monitor.reporting.model import Releases
from monitor.reporting.releases import SHOWN, export_row, releases_in, why
from monitor.reporting.render import as_html, as_markdown
from monitor.reporting.report_json import as_json
from monitor.terminal.localizer import Localizer
from store import ReleaseEvent, ReleaseEventKind
from tests.monitor.reporting import sample
from tests.monitor.reporting.test_render import HOSTILE, Outline

AT = datetime(2026, 11, 12, 3, tzinfo=UTC)
ENGLISH, JAPANESE = (Localizer(locale, "Asia/Tokyo") for locale in ("en", "ja"))
RELEASE = Release(table="people")


def _held_by(check_id, reason, since, incident=None, what=None):
    return HoldingCheck(check_id=check_id, reason=reason, since=since, incident=incident, what=what)


def event(kind=ReleaseEventKind.APPROVED, at=AT, note="ticket 1", **body):
    """Return a fact about a release."""
    return ReleaseEvent("survey", kind, "privacy-desk", note, {"remedy": "generalise", "digest": "d", **body}, at, 1)


def exported(at=AT, **body):
    """Return an export."""
    result = {"file": "survey.csv", "rows": 390, "epsilon": None, "reached": {"k": 5}, **body}
    return event(ReleaseEventKind.EXPORTED, at, "", **result)


def state(*events, held_by=(), name="survey", after=None, digest="d"):
    """Return how a release stands after some facts."""
    found = standing(events, digest=digest, expires_after=after, now=AT + timedelta(days=30))
    return ReleaseState(name, RELEASE, AT, held_by, found)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (state(event(ReleaseEventKind.HELD, note="it {ends}")), "put on hold by privacy-desk: it {ends}"),
        (state(event()), "with generalise, by privacy-desk"),
        (state(event(), after=timedelta(days=60)), "with generalise, by privacy-desk, until Jan 11, 2027"),
        (state(event(), after=timedelta(days=3)), "the approval by privacy-desk has expired"),
        (state(event(), digest="other"), "the configuration has changed since the approval by privacy-desk"),
        (state(), "all limits were evaluated and met"),
        (state(held_by=[_held_by("people.k", "incident", AT, 7)]), "people.k (incident 7)"),
        (
            state(held_by=[_held_by("people.k", "incident", AT, 7, Message("{n:count} rows are alike", {"n": 1200}))]),
            "1,200 rows are alike (incident 7)",
        ),
        (state(held_by=[_held_by(None, "incident", AT, 8, "a {list} leaked")]), "a {list} leaked (incident 8)"),
        (state(held_by=[_held_by("people.k", "fail", AT)]), "people.k fails"),
        (state(held_by=[_held_by("people.k", "not-yet-checked", None)]), "people.k has not run yet"),
        (state(held_by=[_held_by(None, "no-limits", None)]), "no limit is configured"),
        (state(held_by=[_held_by("people.k", str(NOT_RUN), AT)]), "people.k: not run"),
        (
            state(held_by=[_held_by("people.k", UnknownReason.TIMEOUT.value, AT)]),
            "people.k: the query timed out",
        ),
        (state(held_by=[_held_by("people.k", "eclipse", AT)]), "people.k: could not be evaluated"),
    ],
)
def test_reasons_are_shown(found, said):
    """Every way in which a release can stand has a sentence, in both languages."""
    assert [one.render(ENGLISH) for one in why(found)] == [said]
    (japanese,) = (one.render(JAPANESE) for one in why(found))
    assert japanese != said


def section(states=(), exports=()):
    """Return the section of the sample's week."""
    return releases_in(SimpleNamespace(releases=states, exports=exports), window_of(sample.WEEK))  # type: ignore[arg-type] # all that it asks


def test_those_at_risk_come_first_and_the_rest_is_counted():
    """Held ones stand before expired ones, approved and clear ones follow."""
    held = state(held_by=[_held_by("people.k", "fail", AT)])
    found = section([state(), state(event()), state(event(), after=timedelta(days=3)), held, *[state()] * SHOWN])
    words = [row.word for row in found.rows]
    assert words[:3] == [ReleaseWord.HOLD, ReleaseWord.EXPIRED, ReleaseWord.APPROVED]
    assert (len(words), found.more, found.at_risk) == (SHOWN, 4, 2)


def test_exports_are_those_of_the_week():
    """The newest first; what left on Monday midnight after the week belongs to the next one."""
    week = sample.WEEK
    moments = (week.start - timedelta(seconds=1), week.start, week.end - timedelta(seconds=1), week.end)
    found = section(exports=[exported(at) for at in moments])
    assert [row.at for row in found.exports] == [moments[2], moments[1]]


def test_noise_is_told_by_its_epsilon():
    """What was randomised has no k."""
    assert (export_row(exported()).k, export_row(exported()).epsilon) == (5, None)
    randomised = export_row(exported(epsilon="1", reached={"mechanism": "attribute-wise"}))
    assert (randomised.k, randomised.epsilon) == (None, "1")


def report(**more):
    """Return the sample with releases."""
    held = state(event(ReleaseEventKind.HELD, note=more.pop("note", "the contract has ended")), **more)
    return replace(sample.report(), releases=section([held], [exported(), exported(epsilon="1", reached={})]))


@pytest.mark.parametrize("localizer", [ENGLISH, JAPANESE], ids=["en", "ja"])
def test_the_section_stands_in_every_format(localizer):
    """The page, the Markdown and the JSON form tell the same."""
    result = report()
    for text in (Outline(as_html(result, localizer)).text, as_markdown(result, localizer)):
        assert "the contract has ended" in text
        assert "survey.csv" in text
        assert "k = 5" in text
        assert "ε = 1" in text
    (row,) = as_json(result, localizer)["releases"]["shown"]
    assert (row["release"], row["state"]) == ("survey", "hold")
    assert [one["epsilon"] for one in as_json(result, localizer)["releases"]["exports"]] == ["1", None]


def test_without_releases_there_is_no_section():
    """Without releases the section is missing."""
    assert sample.report().releases == Releases()
    assert "releases" not in Outline(as_html(sample.report(), ENGLISH)).values("id")
    assert "Releases" not in as_markdown(sample.report(), ENGLISH)


@pytest.mark.parametrize("localizer", [ENGLISH, JAPANESE], ids=["en", "ja"])
def test_what_others_wrote_stays_text(localizer):
    """A release, a note, a file or a remedy that holds markup adds no element and no column."""
    harmless = report()
    attacked = replace(
        harmless,
        releases=section(
            [state(event(ReleaseEventKind.HELD, note=HOSTILE), name=HOSTILE)],
            [exported(file=HOSTILE, remedy=HOSTILE), exported(epsilon=HOSTILE, reached={}, file=HOSTILE)],
        ),
    )
    pages = [Outline(as_html(one, localizer)) for one in (harmless, attacked)]
    assert sorted(pages[0].elements) == sorted(pages[1].elements)
    assert "<" not in as_markdown(attacked, localizer)
    assert len(as_markdown(attacked, localizer).splitlines()) == len(as_markdown(harmless, localizer).splitlines())
