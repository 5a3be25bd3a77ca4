"""Find out from the data itself when it went bad."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from checks._contract import Measurement, Occurrence, OccurrenceMethod


def from_bad_rows(measurement: Measurement, *more: object) -> Occurrence | None:
    """Return the earliest load time among the bad rows, if the table says when its rows arrive.

    `more` are load times beside the aggregate `first_bad_load`. A naive load time without a declared zone names no
    moment: None, and the last passing run then stands.
    """
    if measurement.loaded_at is None:
        return None
    zone = measurement.zones.of(measurement.loaded_at)
    moments = [as_utc(seen, zone) for seen in (measurement.values.get("first_bad_load"), *more)]
    current_moments = [moment for moment in moments if moment is not None]
    return Occurrence(min(current_moments), OccurrenceMethod.BAD_ROWS) if current_moments else None


def as_utc(value: object, zone: str | None) -> datetime | None:
    """Return an aware time in UTC. `zone` is where a naive value was written; None refuses naive values.

    Takes datetimes, dates (their midnight) and ISO text, as drivers return them; anything else gives None.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - its zone follows
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is None:
        if zone is None:
            return None
        value = value.replace(tzinfo=ZoneInfo(zone))
    try:
        return value.astimezone(UTC)
    except OverflowError:  # a sentinel such as 0001-01-01 or 9999-12-31 in a zone east or west of UTC
        return None
