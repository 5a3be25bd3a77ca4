"""The connection: `/api/v1` of `tablewatch serve`, with a token that is the password of the connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
from airflow.sdk import BaseHook

from tablewatch_airflow.errors import NotAnswered, Refused

_TIMEOUT_S = 30.0
_MOST = 100
"""Tables that one request makes due, and that a page of the list has."""
_FIELDS = ("domain", "owner", "tier")


class TablewatchHook(BaseHook):
    """Asks Tablewatch over HTTP. The token stands in a header only: no address, log or error has it."""

    conn_name_attr = "tablewatch_conn_id"
    default_conn_name = "tablewatch_default"
    conn_type = "tablewatch"
    hook_name = "Tablewatch"

    def __init__(self, tablewatch_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.tablewatch_conn_id = tablewatch_conn_id
        self._connection: Any = None

    def get_conn(self) -> httpx.Client:
        """Return a client, to be closed by the caller."""
        return httpx.Client(**self._client_options())

    async def open_async(self) -> httpx.AsyncClient:
        """Return a client for the triggerer, to be closed by the caller."""
        self._connection = await self.aget_connection(self.tablewatch_conn_id)
        return httpx.AsyncClient(**self._client_options())

    def test_connection(self) -> tuple[bool, str]:
        """Read the list of tables."""
        try:
            with self.get_conn() as client:
                page = answer_of(client.get("/tables", params={"size": 1}))
        except (NotAnswered, Refused, httpx.HTTPError) as error:
            return False, str(error) or type(error).__name__
        return True, f"{page['n']} tables are watched"

    @property
    def browser_address(self) -> str:
        """Return the address at which people open the web pages."""
        connection = self._read_connection()
        return str(connection.extra_dejson.get("public_url") or self._address()).rstrip("/")

    def get(self, path: str, **query: Any) -> Mapping[str, Any]:
        """Return the JSON of an address below `/api/v1`.

        Raises:
            NotAnswered: there is no answer, or none that is JSON.
            Refused: 4xx.
        """
        return self._ask("GET", path, params=query)

    def tables_of(self, selector: Sequence[str]) -> Sequence[str]:
        """Return the tables that words choose: names, or `domain:`, `owner:` and `tier:`, which narrow each other.

        Raises:
            Refused: another kind of word, or no table.
        """
        pairs = [word.partition(":") for word in selector]
        filters = {field: [value for name, _, value in pairs if name == field] for field in _FIELDS}
        filters = {field: values for field, values in filters.items() if values}
        if not filters:
            _refuse_patterns(selector)
            return list(dict.fromkeys(selector))
        if sum(map(len, filters.values())) != len(selector):
            raise Refused(f"over HTTP, names of tables and {'/'.join(_FIELDS)} cannot be mixed: {' '.join(selector)}")
        names: list[str] = []
        cursor = None
        while True:
            page = self.get("/tables", **filters, size=_MOST, **({} if cursor is None else {"cursor": cursor}))
            names += [line["table"] for line in page["tables"]]
            cursor = page["following"]
            if cursor is None:
                break
        if not names:
            raise Refused(f"no table is chosen by {' '.join(selector)}")
        return names

    def request_runs(self, tables: Sequence[str]) -> Mapping[str, str]:
        """Make tables due now, and return for each the moment (ISO 8601) since which its checks wait for a daemon.

        Raises:
            NotAnswered: there is no answer.
            Refused: a table is not configured, has no schedule, or is another's.
        """
        requested: dict[str, str] = {}
        for start in range(0, len(tables), _MOST):
            reply = self._ask("POST", "/runs", json={"tables": list(tables[start : start + _MOST])})
            requested |= {line["table"]: reply["as_of"] for line in reply["tables"]}
        return requested

    def log_failed_job(self, job: str, table: str, note: str) -> None:
        """Log that a job failed that writes a table: a candidate for the cause of incidents downstream.

        Raises:
            NotAnswered: there is no answer.
            Refused: the table is not configured, or is another's.
        """
        self._ask("POST", "/events", json={"kind": "other", "job": job, "table": table, "note": note})

    def _ask(self, method: str, path: str, **how: Any) -> Mapping[str, Any]:
        try:
            with self.get_conn() as client:
                return answer_of(client.request(method, path, **how))
        except httpx.HTTPError as error:
            raise NotAnswered(f"{self._address()} cannot be reached ({type(error).__name__})") from None

    def _read_connection(self) -> Any:
        if self._connection is None:
            self._connection = self.get_connection(self.tablewatch_conn_id)
        return self._connection

    def _address(self) -> str:
        connection = self._read_connection()
        host = connection.host or ""
        if "://" not in host:
            host = f"{connection.schema or 'http'}://{host}"
        port = f":{connection.port}" if connection.port and urlsplit(host).port is None else ""
        if not urlsplit(host).hostname:
            raise Refused(
                f"connection {self.tablewatch_conn_id!r} has no host; write the address of 'tablewatch serve'"
            )
        return host.rstrip("/") + port

    def _client_options(self) -> dict[str, Any]:
        token = self._read_connection().password
        return {
            "base_url": f"{self._address()}/api/v1",
            "headers": {} if not token else {"Authorization": f"Bearer {token}"},
            "timeout": _TIMEOUT_S,
        }


def log_failure(
    tables: Sequence[str], tablewatch_conn_id: str = TablewatchHook.default_conn_name
) -> Callable[[Mapping[str, Any]], None]:
    """Return an `on_failure_callback` that logs a task as a failed job of each of the tables that it writes."""

    def log(context: Mapping[str, Any]) -> None:
        task, hook = context["ti"], TablewatchHook(tablewatch_conn_id)
        for table in tables:
            hook.log_failed_job(f"{task.dag_id}.{task.task_id}", table, "Airflow: failed")

    return log


def page_address(table: str) -> str:
    """Return the address of a table below `/api/v1`."""
    return f"/tables/{quote(table, safe='')}"


def answer_of(response: httpx.Response) -> Mapping[str, Any]:
    """Return the JSON of an answer.

    Raises:
        NotAnswered: 5xx, 429, or no JSON object.
        Refused: another 4xx, with what Tablewatch says.
    """
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.is_success and isinstance(body, dict):
        return body
    text = body.get("detail") if isinstance(body, dict) else None
    message = f"{response.request.method} {response.url.path} was answered with {response.status_code}: {text or '-'}"
    if response.is_client_error and response.status_code != 429:
        raise Refused(message)
    raise NotAnswered(message)


def _refuse_patterns(selector: Sequence[str]) -> None:
    for word in selector:
        if word.startswith("!") or any(sign in word for sign in ":*?["):
            wanted = "names of tables, or domain:, owner: and tier:"
            raise Refused(f"over HTTP, {word!r} cannot be used; write {wanted}, or run the command by 'program'")
