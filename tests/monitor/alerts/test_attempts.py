from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from monitor.alerts.dispatch import JITTER, SCHEDULE, next_try
from monitor.channels import LONGEST_WAIT
from monitor.channels.http_client import read_retry_after

NOW = datetime(2026, 11, 16, 8, tzinfo=UTC)
IDS = st.text("0123456789abcdef", min_size=24, max_size=24).map("msg_{}".format)


def test_the_schedule_is_that_of_standard_webhooks() -> None:
    """Ten attempts are made, the last one 75 hours, 35 minutes and 5 seconds after the first."""
    since = [sum(SCHEDULE[: n + 1], timedelta()) for n in range(len(SCHEDULE))]
    assert [str(moment) for moment in since] == [
        "0:00:00",
        "0:00:05",
        "0:05:05",
        "0:35:05",
        "2:35:05",
        "7:35:05",
        "17:35:05",
        "1 day, 7:35:05",
        "2 days, 3:35:05",
        "3 days, 3:35:05",
    ]


@given(IDS, st.integers(1, 30))
def test_a_wait_is_the_schedules_with_up_to_a_tenth_more(delivery_id: str, attempts: int) -> None:
    """A failed delivery waits as long as the schedule says, at most a tenth longer, and is given up after the tenth."""
    at = next_try(delivery_id, attempts=attempts, now=NOW)
    if attempts >= 10:
        assert at is None
    else:
        assert at is not None
        assert SCHEDULE[attempts] <= at - NOW <= SCHEDULE[attempts] * (1 + JITTER)


@given(IDS, st.integers(1, 9))
def test_the_jitter_is_a_function_of_the_delivery(delivery_id: str, attempts: int) -> None:
    """The same delivery always waits the same time, so that a restart moves nothing."""
    assert next_try(delivery_id, attempts=attempts, now=NOW) == next_try(delivery_id, attempts=attempts, now=NOW)


def test_deliveries_that_failed_together_come_back_apart() -> None:
    """A hundred deliveries that failed at the same moment are spread over the tenth."""
    back = {next_try(f"msg_{n:024x}", attempts=4, now=NOW) for n in range(100)}
    assert len(back) == 100
    spread = max(at for at in back if at) - min(at for at in back if at)
    assert spread > timedelta(hours=2) * JITTER / 2


@given(IDS, st.integers(1, 9), st.timedeltas(timedelta(0), timedelta(days=400)))
def test_the_other_side_may_ask_for_more_patience(delivery_id: str, attempts: int, asked: timedelta) -> None:
    """Retry-After is honoured up to a day, and never makes a wait shorter."""
    at = next_try(delivery_id, attempts=attempts, now=NOW, retry_after=asked)
    plain = next_try(delivery_id, attempts=attempts, now=NOW)
    assert at is not None
    assert plain is not None
    assert at == max(plain, NOW + min(asked, LONGEST_WAIT))


def test_retry_after_is_read_in_seconds_and_as_a_date() -> None:
    """Both forms of RFC 9110 are understood, also the date with an unknown zone."""
    assert read_retry_after("120", NOW) == timedelta(minutes=2)
    assert read_retry_after(" 0 ", NOW) == timedelta(0)
    assert read_retry_after("Mon, 16 Nov 2026 08:30:00 GMT", NOW) == timedelta(minutes=30)
    assert read_retry_after("Monday, 16-Nov-26 08:30:00 GMT", NOW) == timedelta(minutes=30)
    assert read_retry_after("Mon, 16 Nov 2026 08:30:00 -0000", NOW) == timedelta(minutes=30)


def test_retry_after_is_between_nothing_and_a_day() -> None:
    """A date in the past asks for nothing, and no server may ask for more than a day, in either form."""
    assert read_retry_after("Mon, 16 Nov 2026 07:00:00 GMT", NOW) == timedelta(0)
    assert read_retry_after("Mon, 16 Nov 2099 07:00:00 GMT", NOW) == LONGEST_WAIT
    assert read_retry_after("86401", NOW) == LONGEST_WAIT
    assert read_retry_after("9" * 6000, NOW) == LONGEST_WAIT


@given(st.text())
def test_any_other_retry_after_is_ignored(text: str) -> None:
    """Whatever the other side writes, it is a wait of at most a day or nothing at all."""
    read = read_retry_after(text, NOW)
    assert read is None or timedelta(0) <= read <= LONGEST_WAIT


def test_no_retry_after_asks_for_nothing() -> None:
    """Without the header, or with words in it, the schedule alone decides."""
    for text in (None, "", "soon", "-5", "1.5", "٣", "Mon, 99 Nov 2026 08:30:00 GMT"):
        assert read_retry_after(text, NOW) is None
