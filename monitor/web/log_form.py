"""The form by which people log an incident that no check found: five fields."""

from typing import Annotated, Final

from annotated_types import MaxLen
from pydantic import BaseModel, ConfigDict

from monitor.web.access import may_act_on
from monitor.web.call import Call

_OFFERED: Final = 1_000
"""Tables whose names the form offers while one types; of more, the name is typed whole."""


class LogFormQuery(BaseModel):
    """The table that the form begins with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: Annotated[str, MaxLen(500)] | None = None


class LogForm(BaseModel):
    """The form: the table it begins with, and those that the person may name."""

    table: str | None
    tables: tuple[str, ...]


def show_log_form(call: Call) -> LogForm:
    """Return the form."""
    grant = call.someone().grant
    names = [table.name for table in call.project.config.tables if may_act_on(grant, call.project.config, table.name)]
    return LogForm(table=call.query.table, tables=tuple(names[:_OFFERED]))
