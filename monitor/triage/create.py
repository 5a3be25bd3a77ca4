"""Validate reported incidents: texts in one line, fingerprints of tickets, tables that are not configured."""

import re
from datetime import datetime
from hashlib import sha256
from typing import Final

from checks import did_you_mean
from incidents import Incident
from monitor.config import Config
from monitor.terminal.problem import ExitCode, Problem, Stop, unknown_name

_TICKET: Final = "import:"
_NO_KEY: Final = re.compile("[0-9a-f]{16}")


def tidy(text: str) -> str:
    """Return a text in one line, without control characters."""
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(text.split()) if " " in text else text


def ticket_fingerprint(key: str, *, table: str, title: str, detected_at: datetime) -> str:
    """Return the fingerprint of a ticket: by its key, else by its table, title and time of detection.

    A key identifies a ticket whatever else of it was corrected, its table included. Key and title are tidy.
    """
    if key:
        return f"{_TICKET}{key}"
    digest = sha256(f"{title}\n{detected_at.isoformat()}".encode()).hexdigest()[:16]
    return f"{table}:{_TICKET}{digest}"


def former_fingerprint(key: str, *, table: str) -> str | None:
    """Return the fingerprint that earlier versions gave to a ticket, by table and key; None without a key."""
    return f"{table}:{_TICKET}{key}" if key else None


def ticket_of(incident: Incident) -> str | None:
    """Return the key of the ticket that an incident was imported from; None if it has none."""
    if incident.fingerprint.startswith(_TICKET):
        return incident.fingerprint.removeprefix(_TICKET)
    former = incident.fingerprint.removeprefix(f"{incident.table}:{_TICKET}")
    return None if former == incident.fingerprint or _NO_KEY.fullmatch(former) else former


def unknown_table(name: str, config: Config) -> Problem | None:
    """Return the problem that a table is not configured, with a suggestion; None if it is."""
    if config.table(name) is not None:
        return None
    return unknown_name("table", name, [table.name for table in config.tables], see="see 'tablewatch table list'")


def listed_cause(config: Config, cause: str) -> str:
    """Return a cause as `incidents.causes` has it; any text if there is no list.

    Raises:
        Stop: it is not in the list.
    """
    listed, causes = config.incidents.cause(cause), config.incidents.choices
    if listed is None:
        text = f"'{cause}' is not a cause of the list 'incidents.causes'{did_you_mean(cause, causes)}"
        raise Stop(ExitCode.USAGE, Problem("cause.unknown", text, hint=f"one of: {', '.join(causes)}"))
    return listed
