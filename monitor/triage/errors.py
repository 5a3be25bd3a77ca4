"""Translate errors of the packages below into problems and exit codes of commands."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from incidents import ImpossibleOrder, NotAllowed, NotForced
from monitor.terminal.problem import ExitCode, Problem, Stop
from store import NotRecorded, RowRefused, StoreConflict, StoreError

_UTC: Final = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d+)?\+00:00")


class IncidentChanged(NotAllowed):
    """The incident was changed since it was read."""


def in_zone(message: str, zone: str) -> str:
    """Return a message with its times in a zone: the packages below use UTC."""
    local = ZoneInfo(zone)
    return _UTC.sub(lambda result: str(datetime.fromisoformat(result[0]).astimezone(local)), message)


def without_times(message: str) -> str:
    """Return a message without its times: those of an imported row are cells."""
    return " ".join(_UTC.sub("", message).replace(" ;", ";").split())


@contextmanager
def explained(zone: str = "UTC", *, how_to_force: str = "--force does it anyway") -> Iterator[None]:
    """Stop with an exit code and a problem if an incident or the store refuses something inside the block.

    Times in the problem are in the zone; `how_to_force`: the hint if the verb can be forced.

    Raises:
        Stop: with exit code 2 for a refused change, 5 if there is no such incident, 3 if the store cannot be used.
    """
    try:
        yield
    except ImpossibleOrder as error:
        raise Stop(ExitCode.USAGE, Problem("incident.impossible_order", in_zone(str(error), zone))) from None
    except IncidentChanged as error:
        raise Stop(ExitCode.USAGE, Problem("incident.changed", str(error))) from None
    except NotAllowed as error:
        hint = how_to_force if isinstance(error, NotForced) else None
        raise Stop(ExitCode.USAGE, Problem("incident.not_allowed", in_zone(str(error), zone), hint=hint)) from None
    except NotRecorded as error:
        raise Stop(ExitCode.NOTHING_SELECTED, Problem("incident.not_found", str(error))) from None
    except StoreConflict as error:
        raise Stop(ExitCode.USAGE, Problem("store.conflict", str(error))) from None
    except RowRefused as error:
        raise Stop(ExitCode.USAGE, Problem("store.refused", str(error))) from None
    except StoreError as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("store", str(error))) from None
