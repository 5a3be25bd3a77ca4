"""Jira Cloud: an incident is an issue (REST API v3), with a label by which it is found again."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote

from pydantic import Field

from monitor.channels.kind import DeliveryFailed, OutgoingMessage, SecretPlace, Settings, TicketStatus
from monitor.channels.tickets import TicketKind, TicketService

if TYPE_CHECKING:
    from monitor.channels.json_service import IncidentNews, JsonService

_LONGEST_SUMMARY: Final = 255
_DONE: Final = "done"
_STATUSES: Final[Mapping[str, TicketStatus]] = {
    "indeterminate": TicketStatus.IN_PROGRESS,
    _DONE: TicketStatus.CLOSED,
}
"""The state of an issue by the category of its status; any other is new."""


class Jira(Settings):
    """A project of Jira Cloud."""

    url: Annotated[str, Field(pattern="^https?://[^@/ ]+/?$")] = Field(description="https://NAME.atlassian.net")
    email: str = Field(description="Who signs in.")
    token: str = Field(description="An API token of that account.")
    project: Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$")] = Field(description="Key of the project: OPS.")
    issue_type: str = Field("Task", description="Type of the issues.")
    fields: dict[str, Any] = Field({}, description="Other fields of a new issue, as Jira's API takes them.")
    close_status: str | None = Field(
        None, description="Status to close an issue with; by default the first of the category Done."
    )
    close_fields: dict[str, Any] = Field({}, description="Fields that closing needs, as Jira's API takes them.")
    close_resolves: bool = Field(default=False, description="Whether closing an issue resolves its incident.")
    pull_every_s: Annotated[int, Field(ge=60, le=86_400)] = Field(
        300, description="Seconds between two polls of the statuses."
    )
    allow_private: bool = Field(default=False, description="Whether the address may lie in a private network.")


class JiraKind(TicketKind):
    """An issue for each incident."""

    name = "jira"
    settings = Jira
    description = "Jira Cloud: one issue for each incident."
    secrets = (SecretPlace(("token",)),)

    def target(self, settings: Jira) -> str:
        """Return the site; an issue that moves to another project stays the item of its incident."""
        return f"jira {settings.url.rstrip('/')}"

    def item_url(self, settings: Jira, item: str) -> str:
        """Return the page of an issue."""
        return f"{settings.url.rstrip('/')}/browse/{quote(item, safe='')}"

    def ticket_url(self, settings: Jira, key: str) -> str | None:
        """Return the page of an issue of the project."""
        return self.item_url(settings, key) if key.rpartition("-")[0] == settings.project.upper() else None

    def service(self, settings: Jira, message: OutgoingMessage) -> TicketService:
        """Return the site for one attempt."""
        from monitor.channels.json_service import JsonService, basic

        login = basic(settings.email, settings.token)
        return _JiraSite(JsonService("Jira", message, settings.allow_private, login), settings)


@dataclass(frozen=True, slots=True)
class _JiraSite(TicketService):
    service: "JsonService"
    settings: Jira

    def find(self, label: str) -> str | None:
        return next((issue["key"] for issue in self._search([label], ["status"])), None)

    def create(self, news: "IncidentNews") -> str:
        fields = {
            "project": {"key": self.settings.project},
            "issuetype": {"name": self.settings.issue_type},
            "summary": " ".join(news.title.split())[:_LONGEST_SUMMARY],
            "description": document(news.text),
            **self.settings.fields,
        }
        fields["labels"] = [*self.settings.fields.get("labels", ()), "tablewatch", news.sent_item.label]
        return str(self._call("POST", "issue", {"fields": fields})["key"])

    def comment(self, ticket: str, news: "IncidentNews") -> None:
        self._call("POST", f"issue/{ticket}/comment", {"body": document(f"{news.title}\n\n{news.text}")})

    def close(self, ticket: str, news: "IncidentNews") -> None:
        del news  # what it says stands in a comment
        if self._category(ticket) == _DONE:
            return
        step = self._step(ticket, {_DONE}, self.settings.close_status)
        if step is None:
            from monitor.channels.json_service import ServiceRefused

            why = "the issue has no transition to the status that closes it (close_status, or any of the category Done)"
            raise ServiceRefused(DeliveryFailed(why, permanent=True))
        self._go(ticket, step, self.settings.close_fields)

    def reopen(self, ticket: str) -> TicketStatus:
        category = self._category(ticket)
        if category == _DONE:
            step = self._step(ticket, {"new"}) or self._step(ticket, {"indeterminate"})
            if step is None:
                return TicketStatus.CLOSED
            self._go(ticket, step)
            category = self._category(ticket)
        return _STATUSES.get(category, TicketStatus.NEW)

    def statuses(self, labels: Collection[str]) -> Mapping[str, TicketStatus]:
        wanted = set(labels)
        return {
            label: _STATUSES.get(_category_of(issue["fields"]), TicketStatus.NEW)
            for issue in self._search(labels, ["status", "labels"])
            for label in wanted.intersection(issue["fields"].get("labels", ()))
        }

    def _search(self, labels: Collection[str], fields: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        names = ", ".join(f'"{label}"' for label in labels)
        wanted = {"jql": f"labels IN ({names}) ORDER BY created ASC", "fields": [*fields], "maxResults": 100}
        yield from self._call("POST", "search/jql", wanted).get("issues", ())

    def _category(self, ticket: str) -> str:
        return _category_of(self._call("GET", f"issue/{ticket}?fields=status")["fields"])

    def _step(self, ticket: str, categories: Collection[str], status: str | None = None) -> str | None:
        """Return the transition to a status: the named one, or the first of these categories."""
        for step in self._call("GET", f"issue/{ticket}/transitions").get("transitions", ()):
            to = step["to"]
            if to["name"] == status or (status is None and to["statusCategory"]["key"] in categories):
                return str(step["id"])
        return None

    def _go(self, ticket: str, step: str, fields: Mapping[str, Any] | None = None) -> None:
        content = {"transition": {"id": step}, **({"fields": fields} if fields else {})}
        self._call("POST", f"issue/{ticket}/transitions", content)

    def _call(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        return self.service.call(method, f"{self.settings.url.rstrip('/')}/rest/api/3/{path}", content).json()


def _category_of(fields: Mapping[str, Any]) -> str:
    return str(fields["status"]["statusCategory"]["key"])


def document(text: str) -> Mapping[str, Any]:
    """Return a text as a document of Atlassian's format: a paragraph for each line that is not empty."""
    lines = [line for line in text.splitlines() if line.strip()]
    paragraphs = [{"type": "paragraph", "content": [{"type": "text", "text": line}]} for line in lines]
    return {"type": "doc", "version": 1, "content": paragraphs}
