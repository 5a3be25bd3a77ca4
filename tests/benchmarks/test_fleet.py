"""A small fleet on a PostgreSQL store, one daemon of which is killed: nothing is lost, nothing is doubled."""

import os
import re
import subprocess
import sys
from pathlib import Path


def test_a_fleet_loses_and_doubles_nothing(tmp_path, postgres_url):
    """The benchmark counts slots, runs, results and incidents; a size that is done is printed again without a run."""
    options = ["--tables", "150", "--daemons", "2", "--workers", "1", "--kills", "1", "--rate", "0"]
    command = [sys.executable, "-m", "benchmarks", "fleet", *options, "--folder", str(tmp_path)]
    environment = {**os.environ, "TABLEWATCH_TEST_POSTGRES": postgres_url}
    printed = [
        subprocess.run(
            command, cwd=Path(__file__).parents[2], env=environment, check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert printed[0] == printed[1]
    figures = dict(re.findall(r"^\| (.+?) \| (.+) \|$", printed[0], re.MULTILINE))
    assert figures["slots; runs; results; incidents"] == "150; 150; 300; 3"
    assert figures["lost; doubled (slots, runs, results, incidents)"] == "0; 0"
