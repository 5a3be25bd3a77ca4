"""Every check in the dialect of Snowflake, on a fake of it: the same hostile tables, compared with plain Python."""

import json
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.needs import peer_program

_ROOT = Path(__file__).resolve().parents[2]

_BEYOND_THE_FAKE = {
    "sum": "its sums of decimals are floats",
    **dict.fromkeys(
        ["sampled-nulls", "sampled-range", "sampled-accepted", "sampled-pattern", "sampled-share", "sampled-where"],
        "its UNIFORM of RANDOM overflows",
    ),
}
"""Cases that only a server can show."""


@pytest.mark.fakesnow
@pytest.mark.timeout(300)
def test_every_check_speaks_the_dialect_of_snowflake() -> None:
    """Only what the fake cannot do differs; all of that does, so that a better fake is noticed."""
    python = peer_program("fakesnow") or ""
    words = [python, "-m", "tests.checks.snowflake_pass", sysconfig.get_path("purelib")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=_ROOT)
    assert done.returncode == 0, done.stderr
    wrong = json.loads(done.stdout.splitlines()[-1])
    assert wrong.keys() == _BEYOND_THE_FAKE.keys(), wrong
