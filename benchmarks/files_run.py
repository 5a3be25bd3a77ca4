"""How many files of the product a reader goes through who follows a command: those in which a function runs.

Not a matter of time, but of navigation. What runs while a module is imported is left out, and so is what imports or
makes a class ready later, when it is first used, so that commands start fast: the `__getattr__` of a package, and the
schema of a type that pydantic asks for. `--list`: name the files with their lines; `--command WORDS`: count one
command, in the project of the folder this is called from.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from benchmarks._measure import table

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("checks", "incidents", "monitor", "remedies", "sources", "store", "templates")
LATE_IMPORTS = frozenset({"__getattr__", "LazyModule.__getattr__"})
PREPARATION = "release approve member-survey --remedy mondrian --by privacy-desk --note seen"
COMMANDS = ("check orders", "run --once", "release export member-survey --remedy mondrian --out survey.csv")


class FileTrace:
    """A profile function that keeps the files in which functions run, except during imports."""

    def __init__(self) -> None:
        """Start with none."""
        self.files: set[str] = set()
        self._state = threading.local()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Keep the file of a function that is called."""
        del argument  # Python's signature
        if event not in {"call", "return"}:
            return
        importing = getattr(self._state, "importing", 0)
        code = frame.f_code
        if code.co_name == "<module>":
            self._state.importing = importing + (1 if event == "call" else -1)
        elif event == "call" and not importing and not _is_late_import(code.co_qualname):
            self.files.add(code.co_filename)


def _is_late_import(name: str) -> bool:
    return name in LATE_IMPORTS or name.endswith(".__get_pydantic_core_schema__")


def count_files(arguments: Sequence[str]) -> list[Path]:
    """Run a command in this process, and return the files of the product in which a function ran."""
    from monitor.cli import run
    from monitor.terminal.output import Invocation
    from monitor.terminal.problem import ExitCode

    trace = FileTrace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        code = run(arguments, Invocation())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if code > int(ExitCode.FAILED):
        raise SystemExit(code)
    files = (Path(name) for name in trace.files)
    return sorted(file for file in files if file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in PACKAGES)


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--command")
    options = parser.parse_args()
    if options.command is not None:
        files = count_files(options.command.split())
        sys.stderr.write("".join(f"{file.relative_to(ROOT)} {len(file.read_text().splitlines())}\n" for file in files))
        return
    with tempfile.TemporaryDirectory() as name:
        demo = Path(name) / "demo"
        _run("-m", "monitor", "demo", "--dir", str(demo), folder=Path(name))
        _run("-m", "monitor", *PREPARATION.split(), folder=demo)
        config = demo / "tablewatch.yaml"
        text = config.read_text(encoding="utf-8")
        config.write_text(
            text.partition("\nreport:")[0], encoding="utf-8"
        )  # no weekly report is due, or it would count
        lists = {words: _files_of(words, demo) for words in COMMANDS}
    print(table(("command", "files"), [(f"`{words}`", len(files)) for words, files in lists.items()]))
    if options.list:
        for words, files in lists.items():
            print(f"\n{words}:\n" + "\n".join(files))


def _files_of(words: str, folder: Path) -> list[str]:
    done = _run("-m", "benchmarks.files_run", "--command", words, folder=folder)
    return [line for line in done.stderr.splitlines() if ".py " in line]


def _run(*words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    main()
