"""What a process of ours writes and leaves behind belongs to its owner."""

import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import os, resource, subprocess, sys
from pathlib import Path
from monitor.terminal.process_hardening import harden_process
harden_process()
Path("a folder").mkdir()
Path("a folder/a file").write_text("")
subprocess.run([sys.executable, "-c", "open('of a child', 'w'); print(open('/proc/self/coredump_filter').read())"])
print(resource.getrlimit(resource.RLIMIT_CORE)[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_files_and_memory_stay_with_their_owner(tmp_path):
    """Where the umask allows everything, files are 0600 and folders 0700; a crash, of a child too, leaves no memory."""
    root = Path(__file__).resolve().parents[3]
    said = subprocess.run(
        [sys.executable, "-c", _SCRIPT], cwd=tmp_path, env={"PYTHONPATH": str(root)}, umask=0, capture_output=True,
        text=True, check=True,
    ).stdout.split()  # fmt: skip
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"a folder": 0o700, "a file": 0o600, "of a child": 0o600}
    assert said == ["00000000", "0"]
