"""Run the benchmarks named on the command line, or all, each in a process of its own; print Markdown.

`--pages` runs what the documentation names instead, and writes it there.
"""

import importlib
import platform
import subprocess
import sys
from importlib.metadata import version

from benchmarks._pages import write_pages

NAMES = (
    "many_tables",
    "workers",
    "due_at_once",
    "idle_daemon",
    "one_big_table",
    "segments",
    "suggest",
    "first_configuration",
    "suggested_faults",
    "disclosure_risk",
    "incremental_risk",
    "later_exports",
    "microaggregation",
    "beyond_memory",
    "generalisation",
    "exact_noise",
    "synthesis",
    "papers",
    "learned_limits",
    "free_monitors",
    "root_causes",
    "audit",
    "simulation",
    "plan",
    "private_answers",
    "incident_figures",
    "web_models",
    "command_line",
)
LIBRARIES = ("ibis-framework", "duckdb", "great-expectations", "sqlmodel", "pandas")


def main() -> None:
    """Run them; one alone may be given options."""
    if sys.argv[1:2] == ["--pages"]:
        sys.exit(write_pages(sys.argv[2:]))
    names = sys.argv[1:] or NAMES
    if len(names) == 1 or names[1] not in NAMES:
        importlib.import_module(f"benchmarks.{names[0]}").main()
        return
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    print(f"Python {platform.python_version()}, {versions}.\n")
    for name in names:
        subprocess.run([sys.executable, "-m", "benchmarks", name], check=True)
        print()


if __name__ == "__main__":
    main()
