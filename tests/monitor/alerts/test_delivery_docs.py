import http.server
import json
import re
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from monitor.alerts.dispatch import SCHEDULE
from monitor.channels import DeliveryFailed, DeliverySucceeded
from monitor.channels.addresses import Network
from monitor.channels.standard_webhooks import deliver

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "delivery.md").read_text(encoding="utf-8")


@pytest.fixture
def example() -> Any:
    """Run the receiver that the page shows."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "docs/delivery.md", "exec"), names)  # noqa: S102 - our own page
    return SimpleNamespace(**names)


def test_the_table_of_attempts_is_the_schedule() -> None:
    """The page says when a message is tried again as the program does it."""
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| (\d+):(\d+):(\d+) \|$", PAGE, re.MULTILINE)
    said = [timedelta(hours=int(h), minutes=int(m), seconds=int(s)) for _, h, m, s in rows]
    assert said == [sum(SCHEDULE[: n + 1], timedelta()) for n in range(len(SCHEDULE))]


def test_the_example_takes_our_messages_once_and_nobody_elses(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The receiver of the page verifies what we send, tells it once however often it comes, and refuses the rest."""
    example.Receiver.log_message = lambda *_: None
    with http.server.HTTPServer(("127.0.0.1", 0), example.Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        ours = partial(deliver, url, secret=example.SECRET, network=Network(allow_private=True))
        other = partial(deliver, url, secret="whsec_" + "YW5vdGhlcg==", network=Network(allow_private=True))
        now, old = datetime.now(UTC), datetime.now(UTC) - timedelta(hours=1)
        try:
            result = [
                ours({"title": "first"}, message_id="msg_1", now=now),
                ours({"title": "first"}, message_id="msg_1", now=now),
                ours({"title": "second"}, message_id="msg_2", now=now),
                other({"title": "forged"}, message_id="msg_3", now=now),
                ours({"title": "played back"}, message_id="msg_4", now=old),
            ]
        finally:
            server.shutdown()
            thread.join()
    refused = DeliveryFailed("the server answered 401")
    assert result == [DeliverySucceeded(), DeliverySucceeded(), DeliverySucceeded(), refused, refused]
    assert capsys.readouterr().out.splitlines() == ["first", "second"]


def test_the_example_notices_every_change(example: Any) -> None:
    """A byte of the body, the id or the time that is not what was signed makes a message false."""
    from monitor.channels.standard_webhooks import sign

    stamp = int(datetime.now(UTC).timestamp())
    body = json.dumps({"title": "x"}).encode()
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(stamp),
        "webhook-signature": sign(example.SECRET, message_id="msg_1", timestamp=stamp, body=body),
    }
    assert example.is_genuine(headers, body)
    assert not example.is_genuine(headers, body + b" ")
    assert not example.is_genuine({**headers, "webhook-id": "msg_2"}, body)
    assert not example.is_genuine({**headers, "webhook-timestamp": str(stamp - 1)}, body)
