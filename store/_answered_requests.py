"""Store the answers of requests that name a key, so that a request that is sent again is not carried out twice."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import delete, insert, select, update

from store._columns import STRICT, Row, blob, time
from store._repository import Repository

REQUEST_LIFE: Final = timedelta(days=1)
"""How long a key is remembered."""


class AnsweredRequestRow(Row, table=True):
    """A request that was begun: its sender and key, what was asked (as digests), and the answer."""

    __tablename__ = "answered_request"
    __table_args__ = (STRICT,)

    digest: bytes = blob(key=True)
    content: bytes = blob()
    begun_at: datetime = time("begun_us", "begun_at")
    answer: bytes | None = blob(optional=True)


_REQUEST: Final = AnsweredRequestRow.__table__


class AnsweredRequest(NamedTuple):
    """A request by the digest of what it asked; `answer` is None where its process ended before it had one."""

    content: bytes
    answer: bytes | None


class AnsweredRequestReader(Repository):
    """Queries about requests with a key."""


class AnsweredRequestWriter(AnsweredRequestReader):
    """Statements that write requests; the caller holds the claim of the digest, so no other process writes it."""

    def begin(self, digest: bytes, content: bytes, now: datetime) -> AnsweredRequest | None:
        """Note that a request begins; return the earlier one of that digest instead, if it is remembered."""
        old = _REQUEST.c.begun_at <= now - REQUEST_LIFE
        self._connection.execute(delete(_REQUEST).where(_REQUEST.c.digest == digest, old))
        found = select(_REQUEST.c.content, _REQUEST.c.answer).where(_REQUEST.c.digest == digest)
        earlier = self._connection.execute(found).first()
        if earlier is not None:
            return AnsweredRequest(*earlier)
        self._connection.execute(insert(_REQUEST).values(digest=digest, content=content, begun_at=now))
        return None

    def answer(self, digest: bytes, answer: bytes) -> None:
        """Note what a request was answered."""
        self._connection.execute(update(_REQUEST).where(_REQUEST.c.digest == digest).values(answer=answer))

    def forget(self, digest: bytes) -> None:
        """Forget a request that was refused: it has changed nothing."""
        self._connection.execute(delete(_REQUEST).where(_REQUEST.c.digest == digest))
