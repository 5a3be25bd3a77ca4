"""Name what people report: texts in one line, fingerprints of tickets, tables that are not configured."""

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
    """Return a text in one line, without the control characters that would move a terminal's cursor."""
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(text.split()) if " " in text else text


def ticket_fingerprint(key: str, *, table: str, title: str, detected_at: datetime) -> str:
    """Return what importing the same ticket again shares: its own key, else its table, title and when it was noticed.

    A key identifies a ticket whatever else of it was put right since, its table included. Key and title are tidy.
    """
    if key:
        return f"{_TICKET}{key}"
    digest = sha256(f"{title}\n{detected_at.isoformat()}".encode()).hexdigest()[:16]
    return f"{table}:{_TICKET}{digest}"


def former_fingerprint(key: str, *, table: str) -> str | None:
    """Return what a ticket with a key was known by at first, when a key was one of its table; None without a key."""
    return f"{table}:{_TICKET}{key}" if key else None


def ticket_of(incident: Incident) -> str | None:
    """Return the key of the ticket that an incident was imported from; None if it has none."""
    if incident.fingerprint.startswith(_TICKET):
        return incident.fingerprint.removeprefix(_TICKET)
    former = incident.fingerprint.removeprefix(f"{incident.table}:{_TICKET}")
    return None if former == incident.fingerprint or _NO_KEY.fullmatch(former) else former


def unknown_table(name: str, config: Config) -> Problem | None:
    """Return that a table is not configured, and which one may have been meant; None if it is."""
    if config.table(name) is not None:
        return None
    return unknown_name("table", name, [table.name for table in config.tables], see="see 'tablewatch table list'")


def listed_cause(config: Config, cause: str) -> str:
    """Return a cause as the list in the configuration has it; any text where there is no list.

    Raises:
        Stop: it is not in the list.
    """
    listed, causes = config.incidents.cause(cause), config.incidents.choices
    if listed is None:
        text = f"'{cause}' is not a cause of the list 'incidents.causes'{did_you_mean(cause, causes)}"
        raise Stop(ExitCode.USAGE, Problem("cause.unknown", text, hint=f"one of: {', '.join(causes)}"))
    return listed
