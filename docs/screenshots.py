"""Take the pictures of the web pages that README and docs/web.md show: `python -m docs.screenshots` (needs Chromium).

The demo is built as of a fixed moment and served on this machine; Chromium is at /usr/bin/chromium, or where
TABLEWATCH_CHROMIUM says.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import uvicorn
from playwright.sync_api import ViewportSize, sync_playwright

from docs.refresh import DEMO_NOW
from monitor.clock import SimulatedClock
from monitor.config import load
from monitor.config.project import Project
from monitor.config.web_model import cookie_name
from monitor.demo import build_demo
from monitor.verbs.account_secrets import start_session
from monitor.web.server import listen, make_application, server_config
from store import Grant, SignInMethod, WebRole

_PICTURES: Final = Path(__file__).parent / "images"
_PAGES: Final = {
    "incident": "/incidents/9",
    "downtime": "/downtime?start=2026-10-12&end=2026-11-15&by=table",
}
_WINDOW: Final = ViewportSize(width=1100, height=720)


def main() -> None:
    """Write the pictures."""
    _PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        demo = build_demo(Path(folder) / "demo", now=DEMO_NOW)
        project = Project(load(demo.folder / "tablewatch.yaml"), SimulatedClock(demo.end))
        with _served(project) as (address, cookie), sync_playwright() as playwright:
            chromium = os.environ.get("TABLEWATCH_CHROMIUM", "/usr/bin/chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            context = browser.new_context(base_url=address, viewport=_WINDOW, locale="en")
            name, value = cookie
            context.add_cookies([{"name": name, "value": value, "url": address}])
            for picture, path in _PAGES.items():
                page = context.new_page()
                page.goto(path)
                page.screenshot(path=_PICTURES / f"{picture}.png")
            browser.close()


@contextmanager
def _served(project: Project) -> Iterator[tuple[str, tuple[str, str]]]:
    """Serve a project for the block; yield the address, and the cookie of a signed-in user."""
    with project.open_store() as store, listen("127.0.0.1", 0) as listener:
        with store.writing() as tx:
            grant = Grant(WebRole.RESPONDER)
            secret = start_session(tx, "mia", SignInMethod.FORM, grant, now=project.clock.now())
        server = uvicorn.Server(server_config(make_application(project, store)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", (cookie_name(project.config.web), secret)
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()
