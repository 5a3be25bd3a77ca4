"""The code blocks of a page, and a shell in which `tablewatch` is this checkout."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from docs.audit import ROOT, Block, blocks_in


def blocks_of(page: str, section: str | None = None) -> list[Block]:
    """Return the code blocks of a page of the repository, or of one of its sections."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section is not None:
        text = re.split(r"^## ", text.split(f"\n## {section}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return blocks_in(text)


def write_files(folder: Path, page: str, section: str | None = None) -> dict[str, str]:
    """Write the blocks that name a file, and return their texts by name."""
    named = {block.file: block.text for block in blocks_of(page, section) if block.file}
    for name, text in named.items():
        (folder / name).write_text(text, encoding="utf-8")
    return named


def commands_of(page: str, section: str) -> list[str]:
    """Return the lines of the shell blocks of a section."""
    return [line for block in blocks_of(page, section) if block.kind == "sh" for line in block.text.splitlines()]


def run_line(line: str, folder: Path, programs: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell; `programs` are those that it finds beside `tablewatch`, by name."""
    shims = folder / ".programs"
    shims.mkdir(exist_ok=True)
    ours = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m monitor "$@"'
    others = {name: f'exec "{program}" "$@"' for name, program in (programs or {}).items()}
    for name, text in {"tablewatch": ours, **others}.items():
        (shims / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (shims / name).chmod(0o755)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = f"{shims}{os.pathsep}{variables['PATH']}"
    environment = {**variables, "PATH": path, "DBT_PROFILES_DIR": str(folder), "DO_NOT_TRACK": "1"}
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
