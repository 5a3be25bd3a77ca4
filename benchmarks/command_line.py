"""How long `tablewatch --help` takes, next to a bare Typer application."""

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks._measure import table

BARE = """
import typer
app = typer.Typer()
@app.command()
def one(name: str = "x") -> None:
    "One command."
@app.command()
def two(name: str = "x") -> None:
    "Another command."
app()
"""
PAIRS = 15


def main() -> None:
    """Print the comparison; the two run in turn."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        ours, theirs = [], []
        for _ in range(PAIRS + 1):
            ours.append(_seconds([sys.executable, "-m", "monitor", "--help"]))
            theirs.append(_seconds([sys.executable, str(bare), "--help"]))
    rows = [
        ("tablewatch --help", f"{median(ours[1:]):.3f}"),
        ("a bare Typer application --help", f"{median(theirs[1:]):.3f}"),
    ]
    print(f"**The command line.** Wall seconds, median of {PAIRS} runs in turn.\n")
    print(table(("command", "wall s"), rows))
    print(f"\nRatio: {median(a / b for a, b in zip(ours[1:], theirs[1:], strict=True)):.2f}")


def _seconds(command: list[str]) -> float:
    started = perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command
    return perf_counter() - started


if __name__ == "__main__":
    main()
