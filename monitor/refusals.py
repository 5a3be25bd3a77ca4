"""Turn what the rooms below refuse into the errors a command leaves with."""

from collections.abc import Iterator
from contextlib import contextmanager

from incidents import ImpossibleOrder, NotAllowed
from monitor._problem import ExitCode, Problem, Stop
from store import NotRecorded, RowRefused, StoreConflict, StoreError


@contextmanager
def explained() -> Iterator[None]:
    """Leave with a code and a problem when an incident or the store refuses something inside the block.

    Raises:
        Stop: with exit code 2 for what was asked of an incident, 3 when the store cannot be used.
    """
    try:
        yield
    except ImpossibleOrder as error:
        raise Stop(ExitCode.USAGE, Problem("incident.impossible_order", str(error))) from None
    except NotAllowed as error:
        raise Stop(ExitCode.USAGE, Problem("incident.not_allowed", str(error))) from None
    except NotRecorded as error:
        raise Stop(ExitCode.USAGE, Problem("incident.not_found", str(error))) from None
    except StoreConflict as error:
        raise Stop(ExitCode.USAGE, Problem("store.conflict", str(error))) from None
    except RowRefused as error:
        raise Stop(ExitCode.USAGE, Problem("store.refused", str(error))) from None
    except StoreError as error:
        raise Stop(ExitCode.NOT_EVALUATED, Problem("store", str(error))) from None
