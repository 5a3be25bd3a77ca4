"""The shape of `openlineage`: where the daemon sends the events of its runs."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from monitor.config.scalars import Section


class OpenLineage(Section):
    """Where `tablewatch run` sends the events of its runs."""

    url: Annotated[str, Field(pattern="^https?://")] = Field(
        description="Address that takes events: http://127.0.0.1:5000/api/v1/lineage."
    )
    token: str | None = Field(None, description="Bearer token.")
    allow_private: bool = Field(default=False, description="Whether the address may lie in a private network.")

    @model_validator(mode="after")
    def _keeps_its_token(self) -> Self:
        from monitor.channels.json_service import sends_in_the_clear

        problem = None if self.token is None else sends_in_the_clear(self.url)
        if problem is not None:
            raise ValueError(problem)
        return self
