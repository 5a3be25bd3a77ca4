"""ServiceNow: an incident is a record of the Table API, found again by its correlation id."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlencode

from pydantic import Field

from monitor.channels.kind import OutgoingMessage, SecretPlace, Settings, TicketStatus
from monitor.channels.tickets import TicketKind, TicketService

if TYPE_CHECKING:
    from monitor.channels.json_service import IncidentNews, JsonService

_LONGEST_SUMMARY: Final = 160
_NEW: Final = "1"
_RESOLVED: Final = "6"
_STATUSES: Final[Mapping[str, TicketStatus]] = {
    "2": TicketStatus.IN_PROGRESS,
    "3": TicketStatus.IN_PROGRESS,  # on hold
    _RESOLVED: TicketStatus.CLOSED,
    "7": TicketStatus.CLOSED,
    "8": TicketStatus.CLOSED,  # canceled
}
"""The state of a record by its field `state`; any other is new."""
_URGENCY: Final[Mapping[str, str]] = {"critical": "1", "error": "2", "warning": "3", "info": "3"}


class ServiceNow(Settings):
    """A table of records in ServiceNow."""

    url: Annotated[str, Field(pattern="^https?://[^@/ ]+/?$")] = Field(description="https://NAME.service-now.com")
    user: str = Field(description="Who signs in; the role itil, or sn_incident_write.")
    password: str = Field(description="The password of that account.")
    table: Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")] = Field("incident", description="Table of the records.")
    fields: dict[str, str] = Field({}, description="Other fields of a new record: assignment_group, category.")
    close_fields: dict[str, str] = Field(
        {"close_code": "Solution provided"}, description="Fields that resolving needs, beside close_notes."
    )
    close_resolves: bool = Field(default=False, description="Whether resolving a record resolves its incident.")
    pull_every_s: Annotated[int, Field(ge=60, le=86_400)] = Field(
        300, description="Seconds between two polls of the states."
    )
    allow_private: bool = Field(default=False, description="Whether the address may lie in a private network.")


class ServiceNowKind(TicketKind):
    """A record for each incident."""

    name = "servicenow"
    settings = ServiceNow
    description = "ServiceNow: one record for each incident."
    secrets = (SecretPlace(("password",)),)

    def target(self, settings: ServiceNow) -> str:
        """Return the table of the instance."""
        return f"servicenow {settings.url.rstrip('/')} {settings.table}"

    def item_url(self, settings: ServiceNow, item: str) -> str:
        """Return the form of a record."""
        return f"{settings.url.rstrip('/')}/{settings.table}.do?{urlencode({'sys_id': item})}"

    def service(self, settings: ServiceNow, message: OutgoingMessage) -> TicketService:
        """Return the instance for one attempt."""
        from monitor.channels.json_service import JsonService, basic

        login = basic(settings.user, settings.password)
        return _ServiceNowTable(JsonService("ServiceNow", message, settings.allow_private, login), settings)


@dataclass(frozen=True, slots=True)
class _ServiceNowTable(TicketService):
    service: "JsonService"
    settings: ServiceNow

    def find(self, label: str) -> str | None:
        return next((record["sys_id"] for record in self._query(f"correlation_id={label}", "sys_id")), None)

    def create(self, news: "IncidentNews") -> str:
        urgency = _URGENCY[news.severity]
        record = {
            "short_description": " ".join(news.title.split())[:_LONGEST_SUMMARY],
            "description": news.text,
            "urgency": urgency,
            "impact": urgency,
            **self.settings.fields,
            "correlation_id": news.sent_item.label,
            "correlation_display": "Tablewatch",
        }
        return str(self._call("POST", "?sysparm_fields=sys_id", record)["result"]["sys_id"])

    def comment(self, ticket: str, news: "IncidentNews") -> None:
        self._change(ticket, {"work_notes": f"{news.title}\n\n{news.text}"})

    def close(self, ticket: str, news: "IncidentNews") -> None:
        if self._status(ticket) is not TicketStatus.CLOSED:
            self._change(ticket, {"state": _RESOLVED, "close_notes": news.title, **self.settings.close_fields})

    def reopen(self, ticket: str) -> TicketStatus:
        if self._state(ticket) == _RESOLVED:  # one that is closed for good, or canceled, is not opened again
            self._change(ticket, {"state": _NEW})
        return self._status(ticket)

    def statuses(self, labels: Collection[str]) -> Mapping[str, TicketStatus]:
        records = self._query(f"correlation_idIN{','.join(labels)}", "correlation_id,state")
        return {record["correlation_id"]: _STATUSES.get(record["state"], TicketStatus.NEW) for record in records}

    def _status(self, ticket: str) -> TicketStatus:
        return _STATUSES.get(self._state(ticket), TicketStatus.NEW)

    def _state(self, ticket: str) -> str:
        return str(self._call("GET", f"/{ticket}?sysparm_fields=state")["result"]["state"])

    def _query(self, query: str, fields: str) -> Collection[Mapping[str, Any]]:
        asked = {"sysparm_query": f"{query}^ORDERBYsys_created_on", "sysparm_fields": fields, "sysparm_limit": "100"}
        records: Collection[Mapping[str, Any]] = self._call("GET", f"?{urlencode(asked)}").get("result", ())
        return records

    def _change(self, ticket: str, content: Mapping[str, str]) -> None:
        self._call("PATCH", f"/{ticket}?sysparm_fields=sys_id", content)

    def _call(self, method: str, path: str, content: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        url = f"{self.settings.url.rstrip('/')}/api/now/table/{self.settings.table}{path}"
        return self.service.call(method, url, content).json()
