"""What was done to a channel or a message, as it is published: by the command, the API and pages."""

from typing import Literal

from pydantic import Field

from monitor.summaries.shapes import Shape


class SentTestPage(Shape):
    """`tablewatch.alert-test/1`: the test message that a channel took, and its template."""

    schema_: Literal["tablewatch.alert-test/1"] = Field("tablewatch.alert-test/1", alias="schema")
    ok: Literal[True] = True
    channel: str
    id: str
    like: str = Field(alias="as")
    title: str = Field(exclude=True)


class ResentMessagePage(Shape):
    """`tablewatch.alert-resend/1`: a message that is queued again."""

    schema_: Literal["tablewatch.alert-resend/1"] = Field("tablewatch.alert-resend/1", alias="schema")
    ok: Literal[True] = True
    channel: str
    id: str


class EnabledChannelPage(Shape):
    """`tablewatch.alert-enable/1`: a channel that is used again, and whether it was disabled."""

    schema_: Literal["tablewatch.alert-enable/1"] = Field("tablewatch.alert-enable/1", alias="schema")
    ok: Literal[True] = True
    channel: str
    was_disabled: bool
