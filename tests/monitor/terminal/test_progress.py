"""Saying how far a command has come."""

import io
from datetime import UTC, datetime, timedelta

from rich.console import Console

from monitor.clock import SimulatedClock
from monitor.terminal.console import activity, progress


def test_lines_come_every_ten_seconds_without_a_terminal() -> None:
    """In a log a line tells how many of how many; quick work says nothing."""
    clock = SimulatedClock(datetime(2026, 11, 9, tzinfo=UTC))
    output = io.StringIO()
    with progress("checking", 7, console=Console(file=output), clock=clock) as advance:
        for _ in range(7):
            clock.advance(timedelta(seconds=4))
            advance()
    assert output.getvalue().splitlines() == ["checking [3/7]", "checking [6/7]"]


def test_work_that_is_no_count_of_anything_is_told_in_per_cent() -> None:
    """Two hundred steps of a search are no countable things."""
    clock = SimulatedClock(datetime(2026, 11, 9, tzinfo=UTC))
    output = io.StringIO()
    with progress("exporting", 200, share=True, console=Console(file=output), clock=clock) as advance:
        for _ in range(51):
            clock.advance(timedelta(seconds=0.4))
            advance()
    assert output.getvalue().splitlines() == ["exporting 12 %", "exporting 25 %"]


def test_quick_work_draws_nothing_on_a_terminal() -> None:
    """The bar waits two seconds before it appears, so that nothing flickers."""
    output = io.StringIO()
    with progress("checking", 2, console=Console(file=output, force_terminal=True)) as advance:
        advance()
        advance()
    assert output.getvalue() == ""


def test_the_bar_ends_when_the_work_fails() -> None:
    """An error passes through, and leaves no bar behind."""
    output = io.StringIO()
    message = None
    try:
        with progress("checking", 2, console=Console(file=output, force_terminal=True)):
            raise KeyError("x")  # noqa: TRY301 - the error is the case
    except KeyError as error:
        message = str(error)
    assert message == "'x'"
    assert output.getvalue() == ""


def test_what_a_command_does_is_shown_on_a_terminal_until_it_ends() -> None:
    """Work of unknown progress is named, and erased at the end; elsewhere nothing is written."""
    terminal, log = io.StringIO(), io.StringIO()
    with activity("assessing people", console=Console(file=terminal, force_terminal=True), delay=0):
        pass
    with activity("assessing people", console=Console(file=log), delay=0):
        pass
    assert "assessing people" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")
    assert log.getvalue() == ""


def test_quick_work_shows_no_activity() -> None:
    """What ends within two seconds leaves no trace on a terminal."""
    output = io.StringIO()
    with activity("assessing people", console=Console(file=output, force_terminal=True)):
        pass
    assert output.getvalue() == ""
