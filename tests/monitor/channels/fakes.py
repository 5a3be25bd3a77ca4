"""Services on the loopback that enforce what the real ones document: shapes, limits, credentials.

A fault is done to one request each: an answer `429` or `500` without an effect, `lost` (the effect, and no answer), or
`before` (neither).
"""

import base64
import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.monitor.alerts.receivers import Handler, Request


class FakeService:
    """What all have in common: faults, and a record of what was asked."""

    def __init__(self) -> None:
        self.faults: deque[int | str] = deque()
        self.body = b""
        self.asked: list[tuple[str, str]] = []

    def __call__(self, handler: Handler, request: Request) -> None:
        """Answer a request, or do what the next fault says."""
        if len(request.body) < int(request.headers["content-length"]):
            return  # the sender died while sending
        self.asked.append((request.method, urlsplit(request.path).path))
        fault = self.next_fault()
        if fault == "before":
            handler.reset()
            return
        if isinstance(fault, int):
            handler.say(fault, b"SECRET", **({"Retry_After": "30"} if fault == 429 else {}))
            return
        status, answer = self.answer(request, json.loads(request.body or b"{}"))
        if fault == "lost":
            handler.reset()
        else:
            handler.say(status, self.body if answer is None else json.dumps(answer).encode())

    def next_fault(self) -> int | str | None:
        """Return the fault of a request."""
        return self.faults.popleft() if self.faults else None

    def answer(self, request: Request, content: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        """Do what is asked, and return status and answer."""
        raise NotImplementedError


class FakePagerDuty(FakeService):
    """Events API v2: required fields, 1024 characters of a summary, 512 KB; an alert a key while it is open."""

    ROUTING_KEY = "0123456789abcdef0123456789abcdef"

    def __init__(self) -> None:
        super().__init__()
        self.alerts: dict[str, str] = {}
        self.opened: list[str] = []
        self.events: list[Mapping[str, Any]] = []

    def answer(self, request: Request, content: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        errors = self._errors(request, content)
        if errors:
            return 400, {"status": "invalid event", "message": "Event object is invalid", "errors": errors}
        self.events.append(content)
        key, action = content["dedup_key"], content["event_action"]
        if action == "trigger" and self.alerts.get(key) not in {"open", "acknowledged"}:
            self.alerts[key] = "open"
            self.opened.append(key)
        elif action != "trigger" and key in self.alerts:
            self.alerts[key] = {"acknowledge": "acknowledged", "resolve": "resolved"}[action]
        return 202, {"status": "success", "message": "Event processed", "dedup_key": key}

    def _errors(self, request: Request, content: Mapping[str, Any]) -> list[str]:
        payload = content.get("payload", {})
        trigger = content.get("event_action") == "trigger"
        rules = {
            "routing_key": content.get("routing_key") == self.ROUTING_KEY,
            "event_action": content.get("event_action") in {"trigger", "acknowledge", "resolve"},
            "dedup_key": 0 < len(content.get("dedup_key", "")) <= 255,
            "summary": not trigger or 0 < len(payload.get("summary", "")) <= 1024,
            "source": not trigger or bool(payload.get("source")),
            "severity": not trigger or payload.get("severity") in {"critical", "error", "warning", "info"},
            "custom_details": not trigger or isinstance(payload.get("custom_details", {}), dict),
            "links": all(link.keys() <= {"href", "text"} and link["href"] for link in content.get("links", ())),
            "size": len(request.body) <= 512 * 1024,
            "content-type": request.headers["content-type"] == "application/json",
        }
        return [name for name, holds in rules.items() if not holds]


class FakeSlack(FakeService):
    """`chat.postMessage` and `chat.update`, in one channel."""

    TOKEN = "xoxb-12345-secret"  # noqa: S105 - a test's own
    CHANNEL = "C0123ABCD"

    def __init__(self) -> None:
        super().__init__()
        self.messages: dict[str, Mapping[str, Any]] = {}
        self.errors: deque[str] = deque()
        self.posted = 0

    def answer(self, request: Request, content: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        error = self.errors.popleft() if self.errors else self._error(request, content)
        if error:
            return 200, {"ok": False, "error": error}
        ts = content.get("ts")
        if request.path.endswith("/chat.postMessage"):
            self.posted += 1
            ts = f"1700000000.{self.posted:06}"
        self.messages[str(ts)] = content
        return 200, {"ok": True, "channel": content["channel"], "ts": ts}

    def _error(self, request: Request, content: Mapping[str, Any]) -> str | None:
        blocks = content.get("blocks", [])
        rules = {
            "invalid_auth": request.headers.get("authorization") == f"Bearer {self.TOKEN}",
            "channel_not_found": content.get("channel") == self.CHANNEL,
            "no_text": bool(content.get("text")),
            "msg_too_long": len(content.get("text", "")) <= 4_000,
            "invalid_blocks": len(blocks) <= 50 and all(0 < len(one["text"]["text"]) <= 3_000 for one in blocks),
            "message_not_found": request.path.endswith("/chat.postMessage") or content.get("ts") in self.messages,
        }
        return next((name for name, holds in rules.items() if not holds), None)


class FakeTickets(FakeService):
    """A ticket system whose search finds a new ticket only after it was indexed."""

    def __init__(self) -> None:
        super().__init__()
        self.tickets: dict[str, dict[str, Any]] = {}
        self.indexed: set[str] = set()
        self.lags = False

    def index(self) -> None:
        """Let the search find all there is."""
        self.indexed = {*self.tickets}

    def by_label(self, labels: list[str]) -> list[dict[str, Any]]:
        """Return the tickets that a search finds."""
        if not self.lags:
            self.index()
        return [one for name, one in self.tickets.items() if name in self.indexed and one["label"] in labels]

    def close(self, ticket: str) -> None:
        """Close a ticket, as a person does."""
        raise NotImplementedError

    def work_on(self, ticket: str) -> None:
        """Begin to work on a ticket."""
        raise NotImplementedError

    def is_closed(self, ticket: str) -> bool:
        """Check whether a ticket is closed."""
        raise NotImplementedError


class FakeJira(FakeTickets):
    """REST API v3: ADF, labels without blanks, summaries of one line and 255 characters, transitions by id."""

    LOGIN = "Basic " + base64.b64encode(b"agent@example.org:jira-secret").decode()
    CATEGORIES = {"To Do": "new", "In Progress": "indeterminate", "Done": "done", "Won't Do": "done"}  # noqa: RUF012

    def answer(self, request: Request, content: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        if request.headers.get("authorization") != self.LOGIN:
            return 401, {}
        path = urlsplit(request.path).path.removeprefix("/rest/api/3/").split("/")
        match request.method, path:
            case "POST", ["issue"]:
                return self._create(content["fields"])
            case "POST", ["search", "jql"]:
                assert content["fields"], "without fields the search returns none"
                labels = re.findall(r'"([^"]+)"', content["jql"])
                return 200, {"issues": [self._issue(one) for one in self.by_label(labels)], "isLast": True}
        ticket = self.tickets.get(path[1])
        if ticket is None:
            return 404, {"errorMessages": ["Issue does not exist or you do not have permission to see it."]}
        return self._of_issue(request.method, path[2:], ticket, content)

    def _of_issue(
        self, method: str, path: list[str], ticket: dict[str, Any], content: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, Any]]:
        match method, path:
            case "GET", []:
                return 200, self._issue(ticket)
            case "POST", ["comment"] if is_document(content["body"]):
                ticket["comments"].append(content["body"])
                return 201, {"id": "1"}
            case "GET", ["transitions"]:
                steps = [name for name in self.CATEGORIES if name != ticket["status"]]
                return 200, {"transitions": [{"id": f"9{name}", "name": name, "to": self._to(name)} for name in steps]}
            case "POST", ["transitions"] if not content.get("fields", {}).keys() - {"resolution"}:
                ticket["status"] = content["transition"]["id"][1:]
                return 204, {}
        return 400, {"errors": {"customfield_1": "SECRET"}}

    def _create(self, fields: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        rules = {
            "project": fields.get("project") == {"key": "OPS"},
            "issuetype": fields.get("issuetype") in ({"name": "Task"}, {"name": "Bug"}),
            "summary": 0 < len(fields.get("summary", "")) <= 255 and "\n" not in fields["summary"],
            "description": is_document(fields.get("description")),
            "labels": all(label and " " not in label for label in fields.get("labels", ())),
            "reporter": "reporter" not in fields,
        }
        errors = {name: "SECRET" for name, holds in rules.items() if not holds}
        if errors:
            return 400, {"errorMessages": [], "errors": errors}
        key = f"OPS-{len(self.tickets) + 1}"
        label = next(label for label in fields["labels"] if label != "tablewatch")
        self.tickets[key] = {"key": key, "label": label, "fields": fields, "status": "To Do", "comments": []}
        return 201, {"id": "1", "key": key, "self": "https://example.org/rest/api/3/issue/1"}

    def _to(self, name: str) -> Mapping[str, Any]:
        return {"name": name, "statusCategory": {"key": self.CATEGORIES[name]}}

    def _issue(self, ticket: Mapping[str, Any]) -> Mapping[str, Any]:
        fields = {"status": self._to(ticket["status"]), "labels": ticket["fields"]["labels"]}
        return {"id": "1", "key": ticket["key"], "fields": fields}

    def close(self, ticket: str) -> None:
        self.tickets[ticket]["status"] = "Done"

    def work_on(self, ticket: str) -> None:
        self.tickets[ticket]["status"] = "In Progress"

    def is_closed(self, ticket: str) -> bool:
        return self.CATEGORIES[self.tickets[ticket]["status"]] == "done"


def is_document(content: object) -> bool:
    """Check whether something is a document of Atlassian's format with paragraphs of texts that are not empty."""
    if not isinstance(content, dict) or (content.get("type"), content.get("version")) != ("doc", 1):
        return False
    paragraphs = content.get("content", [])
    return all(
        one["type"] == "paragraph" and all(part["type"] == "text" and part["text"] for part in one["content"])
        for one in paragraphs
    )


class FakeServiceNow(FakeTickets):
    """The Table API: basic authentication, short descriptions of 160 characters, a close code to resolve."""

    LOGIN = "Basic " + base64.b64encode(b"agent:now-secret").decode()

    def answer(self, request: Request, content: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        if request.headers.get("authorization") != self.LOGIN:
            return 401, {"error": {"message": "User Not Authenticated"}}
        parts = urlsplit(request.path)
        path, query = parts.path.removeprefix("/api/now/table/incident").strip("/"), parse_qs(parts.query)
        wanted = query["sysparm_fields"][0].split(",")
        match request.method, path:
            case "POST", "":
                return self._create(content)
            case "GET", "":
                condition = query["sysparm_query"][0].split("^")[0]
                _, many, one = condition.partition("IN")
                labels = one.split(",") if many else [condition.partition("=")[2]]
                return 200, {"result": [{name: row[name] for name in wanted} for row in self.by_label(labels)]}
        ticket = self.tickets.get(path)
        if ticket is None:
            return 404, {"error": {"message": "No Record found"}}
        if request.method == "PATCH":
            if content.get("state") == "6" and not (content.get("close_code") and content.get("close_notes")):
                return 403, {"error": {"message": "Operation Failed", "detail": "Data Policy Exception"}}
            ticket["work_notes"] += [content["work_notes"]] if "work_notes" in content else []
            ticket.update({name: value for name, value in content.items() if name != "work_notes"})
        return 200, {"result": {name: ticket[name] for name in wanted}}

    def _create(self, content: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        assert 0 < len(content["short_description"]) <= 160
        assert {content["urgency"], content["impact"]} <= {"1", "2", "3"}
        assert len(content["correlation_id"]) <= 100
        sys_id = f"{len(self.tickets) + 1:032x}"
        own = {"sys_id": sys_id, "number": f"INC{len(self.tickets) + 1:07}", "state": "1", "work_notes": []}
        self.tickets[sys_id] = {**content, **own, "label": content["correlation_id"]}
        return 201, {"result": {"sys_id": sys_id}}

    def close(self, ticket: str) -> None:
        self.tickets[ticket]["state"] = "7"

    def work_on(self, ticket: str) -> None:
        self.tickets[ticket]["state"] = "2"

    def is_closed(self, ticket: str) -> bool:
        return self.tickets[ticket]["state"] in {"6", "7", "8"}
