"""The only module that imports apprise, when the first message is sent through it.

apprise speaks to chats, pagers and mail servers. It answers yes or no and writes what went wrong, addresses and all, to
its log: the log is kept inside, and of it only the status of an HTTP answer is read. Nothing of apprise's own machinery
is used beyond one attempt: no retries, no redirects, no files, no pool of threads.
"""

import logging
import re
import threading
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from monitor.channels.kind import Attachment, Attempt, DeliveryFailed, DeliverySucceeded, Mail
from sources import MissingExtra, import_extra

if TYPE_CHECKING:
    import apprise

PATIENCE: Final = 15.0
"""Seconds for a single read or write, if the URL does not set them (`cto`, `rto`)."""
MAIL_LETTERS: Final = 32_768
"""A service with a shorter limit is a chat, even if it accepts some HTML."""
ID_HEADER: Final = "X-Tablewatch-Id"
"""The header of mails, and of POSTs of the generic kinds, with the id of the delivery."""
_TAKES_HEADERS: Final = frozenset({"mailto", "mailtos", "json", "jsons", "xml", "xmls", "form", "forms"})
NAMES_FILES: Final = "names a file (template=, keyfile=, subfile=, pgppub=, pgpprv=), which no channel may read"
_FILE_ARGUMENTS: Final = ("keyfile", "subfile", "pgp_key", "pgp_privkey")
_IMPORTING: Final = threading.Lock()
_STATUS: Final = re.compile(r"\berror=([1-5]\d\d)\b")


def deliver(url: str, mail: Mail, *, message_id: str) -> Attempt:
    """Send a message once through the service of a URL."""
    try:
        apprise = _apprise()
    except MissingExtra as error:
        return DeliveryFailed(str(error))
    service = _service(url)
    if service is None:
        return DeliveryFailed("its Apprise URL is not valid; see the list of services in the Apprise documentation")
    if _names_files(service):
        return DeliveryFailed(f"its Apprise URL {NAMES_FILES}")
    if url.partition("://")[0].lower() in _TAKES_HEADERS:
        service.headers = {**service.headers, ID_HEADER: message_id}
    door = apprise.Apprise(asset=service.asset)
    door.add(service)
    page = mail.html if _reads_pages(service) else None
    result = door.notify(
        title=_one_line(mail.title),
        body=mail.text if page is None else page,
        body_format=apprise.NotifyFormat.TEXT if page is None else apprise.NotifyFormat.HTML,
        attach=_attached(mail.attachments) if mail.attachments and service.attachment_support else None,
    )
    return (
        DeliverySucceeded()
        if result
        else DeliveryFailed(_why(entry.message for item in result.results for entry in item.logs()))
    )


def problem(url: str) -> str | None:
    """Return why a URL is no channel: apprise knows no such service, or would read a file for it; None if it is one."""
    try:
        service = _service(url)
    except MissingExtra as error:
        return str(error)
    if service is None:
        return "Apprise does not understand this address; its documentation has the form of each service"
    return f"the address {NAMES_FILES}" if _names_files(service) else None


def _names_files(service: Any) -> bool:
    """Check whether a service would send or use a file, or what another address holds, that its URL names."""
    from apprise import AppriseAttachment

    values = vars(service)
    named = [values.get(name) for name in _FILE_ARGUMENTS]
    return any(named) or any(isinstance(value, AppriseAttachment) and value for value in values.values())


def _apprise() -> Any:
    """Import apprise with its services, and silence its log; of several threads one imports, and the others wait."""
    with _IMPORTING:
        return _imported()


@cache
def _imported() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # one of its libraries asks for imghdr
        apprise = import_extra("apprise")
        for name in ("apprise", "urllib3"):  # they name addresses; apprise still collects its own for each attempt
            log = logging.getLogger(name)
            log.addHandler(logging.NullHandler())
            log.propagate = False
        apprise.Apprise.instantiate("json://localhost")  # the first one loads them all
    return apprise


def _service(url: str) -> Any:
    apprise = _apprise()
    asset = apprise.AppriseAsset(
        app_id="Tablewatch",
        app_desc="Tablewatch",
        app_url="",
        storage_mode="memory",
        http_redirects=False,
        default_service_retry=0,
        service_timeout=0,  # the dispatcher watches the time; a pool of threads would keep the process from ending
        async_mode=False,
        pgp_autogen=False,
        pem_autogen=False,
    )
    service = apprise.Apprise.instantiate(url, asset=asset)
    if service is not None:
        _be_patient(service)
    return service


def _be_patient(service: Any) -> None:
    """Set longer timeouts than apprise's four seconds, in which many mail servers do not even greet."""
    from apprise import URLBase

    for name in ("socket_connect_timeout", "socket_read_timeout"):
        if getattr(service, name) == getattr(URLBase, name):
            setattr(service, name, PATIENCE)


def _reads_pages(service: Any) -> bool:
    """Check whether the service is mail: it prefers HTML, and accepts files and long texts."""
    from apprise import NotifyFormat

    chosen = (
        service.resolve_format(NotifyFormat.HTML) is NotifyFormat.HTML and _formats(service)[0] is NotifyFormat.HTML
    )
    return bool(chosen and service.attachment_support and service.body_maxlen >= MAIL_LETTERS)


def _formats(service: Any) -> Sequence["apprise.NotifyFormat"]:
    formats = service.notify_format
    return tuple(formats) if isinstance(formats, tuple | list) else (formats,)


def _attached(attachments: Sequence[Attachment]) -> Any:
    from apprise import AppriseAttachment
    from apprise.attachment.memory import AttachMemory

    made = AppriseAttachment()
    for attachment in attachments:
        file: Any = AttachMemory  # it has no types
        made.add(file(content=attachment.text, name=attachment.name, mimetype=attachment.mime))
    return made


def _one_line(title: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in title).split())


def _why(entries: Iterable[str]) -> str:
    """Return the status of an HTTP answer; nothing else of apprise's messages is safe to quote."""
    for entry in entries:
        status = _STATUS.search(entry)
        if status is not None:
            return f"the service answered {status[1]}"
    return "the service could not be reached or rejected the message"
