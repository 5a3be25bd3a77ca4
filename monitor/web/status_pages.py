"""Status pages for consumers: a page and a badge at an address that cannot be guessed, without sign-in.

An address that is unknown, was revoked, or is of what left the configuration is the same 404.
"""

from contextlib import suppress
from typing import Annotated, Final

from annotated_types import MaxLen
from pydantic import BaseModel
from starlette.responses import Response

from monitor.terminal.problem import Problem, Stop
from monitor.verbs.account_secrets import digest_of
from monitor.web.boundary import SECURITY_HEADERS
from monitor.web.call import Call
from monitor.web.problems import WebError
from monitor.web.status import badge_svg
from monitor.web.views.consumer_status import BADGES, ConsumerStatus, consumer_status, status_html

MOST_STATUS_READS: Final = 60
"""Requests a minute of a client; behind a proxy that does not name it, of an address."""
_UNLISTED: Final = {"x-robots-tag": "noindex, nofollow", "referrer-policy": "no-referrer"}
_EMBEDDED: Final = {"cross-origin-resource-policy": "cross-origin", "cache-control": "no-cache, max-age=0"}


class StatusSecret(BaseModel):
    """The secret part of an address, in the path."""

    secret: Annotated[str, MaxLen(100)]


def show_status(call: Call) -> Response:
    """Return the page.

    Raises:
        WebError: 404 where nothing has this address, 429 for too many requests.
    """
    text, style_hash = status_html(call.project, _status(call), call.language)
    policy = SECURITY_HEADERS["content-security-policy"].replace("style-src 'self'", f"style-src '{style_hash}'")
    headers = {**_UNLISTED, "content-language": call.language, "content-security-policy": policy}
    return Response(text, headers=headers, media_type="text/html")


def show_status_badge(call: Call) -> Response:
    """Return the badge, which other sites may show.

    Raises:
        WebError: as the page.
    """
    return Response(badge_of(_status(call)), headers={**_UNLISTED, **_EMBEDDED}, media_type="image/svg+xml")


def badge_of(status: ConsumerStatus) -> str:
    """Return the badge of a status."""
    return badge_svg(status.name, *BADGES[status.use])


def _status(call: Call) -> ConsumerStatus:
    digest = digest_of(call.query.secret)
    wait_s = call.application.status_readers.begin(call.client or digest.hex())
    if wait_s is not None:
        problem = Problem("status_page.limit", f"more than {MOST_STATUS_READS} requests in a minute; try again later")
        raise WebError(429, problem, headers={"retry-after": str(wait_s)})
    with call.store.reading() as tx:
        address = tx.status_addresses.find(digest)
        with suppress(Stop):  # it left the configuration
            if address is not None:
                return consumer_status(call.project, tx, address.scope, address.name, call.now)
    raise WebError(404, Problem("status_page.gone", "there is no status at this address"))
