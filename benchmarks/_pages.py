"""Write measured tables into the documentation: `make bench`, or `python -m benchmarks --pages [WORD ...]`.

A table stands between `<!-- measured: COMMAND -->` and `<!-- end of measured -->`. The command is run, and what it
prints takes the place of what was there, below a line with the day and the load of the machine. A word chooses the
commands that contain it. A command that fails leaves its table as it was, and the exit code is 1.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
BLOCK: Final = re.compile(r"<!-- measured: (?P<command>[^\n]+) -->\n(?P<body>.*?)<!-- end of measured -->", re.DOTALL)
_TITLE: Final = re.compile(r"\A\*\*.*?\*\*[^\n]*\n+")
_BETWEEN_LOADS: Final = 2.0


def write_pages(words: Sequence[str]) -> int:
    """Run the commands that contain one of `words`, or all, and write what they print; return the exit code."""
    failed = 0
    for page in sorted((ROOT / "docs").glob("*.md")):
        for block in list(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            command = block["command"]
            if words and not any(word in command for word in words):
                continue
            print(f"{page.name}: {command}", flush=True)
            printed = _run(command)
            failed += printed is None
            if printed is not None:
                text = page.read_text(encoding="utf-8")  # another command may have written the page
                page.write_text(text.replace(block[0], _block(command, printed)), encoding="utf-8")
    return int(failed > 0)


def _block(command: str, printed: str) -> str:
    return f"<!-- measured: {command} -->\n{printed}\n<!-- end of measured -->"


def _run(command: str) -> str | None:
    """Return the day, the load and what a command prints without its title; None if it fails."""
    words = [sys.executable if word == "python" else word for word in shlex.split(command)]
    loads = [os.getloadavg()[0]]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while True:
            try:
                printed, errors = process.communicate(timeout=_BETWEEN_LOADS)
                break
            except subprocess.TimeoutExpired:
                loads.append(os.getloadavg()[0])
    if process.returncode:
        print(f"exit code {process.returncode}: {errors[-2000:]}", file=sys.stderr)
        return None
    day = datetime.now(UTC).date()
    return f"Measured on {day}, load of {min(loads):.0f} to {max(loads):.0f}.\n\n{_TITLE.sub('', printed.strip())}\n"
