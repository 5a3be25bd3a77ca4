"""Wait in the triggerer until a daemon has run the checks of some tables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

import httpx
from airflow.triggers.base import BaseTrigger, TriggerEvent

from tablewatch_airflow.errors import NotAnswered, Refused
from tablewatch_airflow.hook import TablewatchHook, answer_of, page_address
from tablewatch_airflow.verdict import read_page


class TablewatchRunTrigger(BaseTrigger):
    """Ends when each table has results of a run that began after it was requested; the token is not serialised.

    `requested`: the moment (ISO 8601) by table. What cannot be reached for a while is asked again; when to give up is
    the business of the task's timeout.
    """

    def __init__(self, tablewatch_conn_id: str, requested: Mapping[str, str], poll_interval: float) -> None:
        super().__init__()
        self.tablewatch_conn_id = tablewatch_conn_id
        self.requested = dict(requested)
        self.poll_interval = poll_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments."""
        arguments = {
            "tablewatch_conn_id": self.tablewatch_conn_id,
            "requested": self.requested,
            "poll_interval": self.poll_interval,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event: what was `requested`, and why it was `refused` (or None)."""
        waiting = dict(self.requested)
        try:
            async with await TablewatchHook(self.tablewatch_conn_id).open_async() as client:
                while waiting:
                    for table, since in list(waiting.items()):
                        if await _is_done(client, table, since):
                            del waiting[table]
                    if waiting:
                        await asyncio.sleep(self.poll_interval)
        except Refused as error:
            yield TriggerEvent({"requested": self.requested, "refused": str(error)})
        else:
            yield TriggerEvent({"requested": self.requested, "refused": None})


async def _is_done(client: httpx.AsyncClient, table: str, since: str) -> bool:
    try:
        page = answer_of(await client.get(page_address(table)))
    except (httpx.HTTPError, NotAnswered):
        return False
    return read_page(page, datetime.fromisoformat(since)) is not None
