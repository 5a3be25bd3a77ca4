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


def test_no_plugin_sees_what_is_validated(tmp_path):
    """A pydantic plugin that another package brings is shown no configuration: it is not loaded."""
    distribution = tmp_path / "spy-1.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: spy\nVersion: 1\n")
    (distribution / "entry_points.txt").write_text("[pydantic]\nspy = spy:plugin\n")
    (tmp_path / "spy.py").write_text("print('loaded')\nplugin = None\n")
    validate = "import pydantic; pydantic.TypeAdapter(int).validate_python(1)"
    harden = "from monitor.terminal.process_hardening import harden_process; harden_process(); "
    root = Path(__file__).resolve().parents[3]

    def said(script):
        path = {"PYTHONPATH": f"{root}:{tmp_path}", "PYTHONWARNINGS": "ignore"}
        return subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=path, capture_output=True, text=True, check=False
        ).stdout.split()

    assert said(validate) == ["loaded"]
    assert said(harden + validate) == []
