"""Print a page to PDF with a Chromium that is installed: Chromium, Chrome or Edge."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from monitor.terminal.problem import ExitCode, Problem, Stop

BROWSER: Final = "TABLEWATCH_CHROMIUM"
"""The variable of the environment that names the browser."""
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PLACES: Final = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
_WORDS: Final = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # a report fetches nothing, and neither does its browser
    "--no-pdf-header-footer",
)
_PATIENCE_S: Final = 120
_SIGNATURE: Final = b"%PDF-"


def browser() -> Path:
    """Return the browser: the one that the environment names, else the first that is installed.

    Raises:
        Stop: there is none.
    """
    named = os.environ.get(BROWSER)
    if named:
        program = shutil.which(named)
        if program is None:
            raise _stop(f"{BROWSER} is {named}, which cannot be run", "name the program of Chromium, Chrome or Edge")
        return Path(program)
    for path in _installed():
        return path
    raise _stop(
        "a PDF is printed by Chromium, Chrome or Edge, and none is installed",
        f"install one, name it in {BROWSER}, or write HTML and print that",
    )


def _installed() -> Iterator[Path]:
    yield from (Path(path) for path in map(shutil.which, _NAMES) if path is not None)
    yield from (Path(path) for path in _PLACES if Path(path).is_file())


def as_pdf(page: str) -> bytes:
    """Return a page as PDF, A4 as its style sheet says.

    Args:
        page: HTML that needs nothing but itself.

    Raises:
        Stop: there is no browser, or it did not print within two minutes.
    """
    program = browser()
    with TemporaryDirectory(prefix="tablewatch-pdf-") as folder:
        source, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            str(program),
            *_WORDS,
            *(["--no-sandbox"] if _is_root() else []),  # Chromium has no sandbox for root
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
            source.as_uri(),
        ]
        ended = _run(command)
        content = printed.read_bytes() if printed.exists() else b""
    if not content.startswith(_SIGNATURE):
        raise _stop(f"{program.name} printed nothing ({ended})", "try it by hand with --print-to-pdf, or write HTML")
    return content


def _run(command: list[str]) -> str:
    """Run the browser; return how it ended."""
    nowhere = subprocess.DEVNULL
    try:
        done = subprocess.run(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, timeout=_PATIENCE_S, check=False)  # noqa: S603 - a browser that the user installed, and our own words
    except subprocess.TimeoutExpired:
        return f"stopped after {_PATIENCE_S} s"
    except OSError as error:
        return f"not started: {error.strerror}"
    return f"exit code {done.returncode}"


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _stop(message: str, hint: str) -> Stop:
    return Stop(ExitCode.NOT_EVALUATED, Problem("report.pdf", message, hint=hint))
