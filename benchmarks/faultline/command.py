"""`python -m benchmarks faultline`: draw injections, let every contestant judge them, and write the page.

Results of a contestant on a history are kept in `--work`, so that a run that was ended goes on where it was.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks.faultline.contestants import PEERS, TOOLS, peer_of, run_peer, version_of
from benchmarks.faultline.faults import Injection, draw
from benchmarks.faultline.histories import RealHistory, history_names, read_histories
from benchmarks.faultline.knowledge import learn_by_hand
from benchmarks.faultline.ours import by_hand_text, init_text, run_ours
from benchmarks.faultline.page import Results, page, tables
from benchmarks.faultline.scores import Outcomes

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT.parent / "shared" / "data"
OURS: Final = {
    "tablewatch, `init` alone": "init",
    "tablewatch, `init` and `suggest`": "suggest",
    "tablewatch, by hand": "hand",
}


@dataclass(frozen=True, slots=True)
class Job:
    """One contestant on one history. `python`: of the environment of another tool; empty for ours."""

    contestant: str
    history: str
    injections: Sequence[Injection]
    data: Path
    work: Path
    python: str = ""

    @property
    def file(self) -> Path:
        """Return where its results are kept."""
        word = "".join(letter if letter.isalnum() else "-" for letter in self.contestant)
        return self.work / f"{word}.{self.history}.{len(self.injections)}.json"


def main() -> None:
    """Run the benchmark, print its tables, and write the page if it is named."""
    options = _options(sys.argv[2:])
    histories = read_histories(options.data, options.histories)
    injections = [draw(seed, histories) for seed in range(max(options.injections, options.peers))]
    if options.list is not None:
        lines = [json.dumps(injection.as_json()) for injection in injections]
        options.list.write_text("\n".join(lines) + "\n", encoding="utf-8")
    pythons = {tool: getattr(options, tool) or str(ROOT / ".venv/peers" / tool / "bin/python") for tool in TOOLS}
    absent = [tool for tool, python in pythons.items() if not Path(python).is_file()]
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        jobs = list(_jobs(options, histories, injections, pythons, work))
        jobs = [job for job in jobs if not options.kept or job.file.is_file()]
        before = os.getloadavg()[0]
        with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=4) as pool:
            outcomes = pool.map(run, jobs, 1)
    found: dict[str, dict[str, Outcomes]] = {}
    for job, each in zip(jobs, outcomes, strict=True):
        found.setdefault(job.contestant, {})[job.history] = each
    versions = {"Tablewatch": version("tablewatch")} | {
        TOOLS[tool]: version_of(tool, pythons[tool]) for tool in TOOLS if tool not in absent and options.peers
    }
    results = Results(histories, injections, found, absent, (before, os.getloadavg()[0]), versions)
    print(tables(results))
    if options.page is not None:
        options.page.write_text(page(results), encoding="utf-8")


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks faultline")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of reference data")
    parser.add_argument("--injections", type=int, default=200, help="for the configurations of Tablewatch")
    parser.add_argument("--peers", type=int, default=0, help="the first so many of them for the other tools")
    for tool, package in TOOLS.items():
        parser.add_argument(f"--{tool}", help=f"a Python with {package}; by default that of .venv/peers/{tool}")
    parser.add_argument("--histories", nargs="*", choices=history_names(), help="draw injections for these only")
    parser.add_argument("--only", nargs="*", choices=history_names(), help="of all injections, judge those of these")
    parser.add_argument("--contestants", nargs="*", help="only those whose name begins with one of these texts")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--work", type=Path, help="where results are kept; by default nowhere")
    parser.add_argument("--kept", action="store_true", help="judge nothing more: the results that are in --work")
    parser.add_argument("--list", type=Path, help="write the injections to this file, one JSON object a line")
    parser.add_argument("--page", type=Path, help="write the page to this file, docs/faultline.md")
    return parser.parse_args(words)


def _jobs(
    options: argparse.Namespace,
    histories: Sequence[RealHistory],
    injections: Sequence[Injection],
    pythons: Mapping[str, str],
    work: Path,
) -> Iterator[Job]:
    """Yield the jobs: all contestants of a history, then those of the next."""
    counts = {
        **dict.fromkeys(OURS, options.injections),
        **(dict.fromkeys(PEERS, options.peers) if options.peers else {}),
    }
    for history in (each for each in histories if options.only is None or each.name in options.only):
        for name, count in counts.items():
            python = pythons[PEERS[name]] if name in PEERS else ""
            wanted = options.contestants is None or any(name.startswith(word) for word in options.contestants)
            if wanted and (not python or Path(python).is_file()):
                mine = [each for each in injections[:count] if each.history == history.name]
                yield Job(name, history.name, mine, options.data, work, python)


def run(job: Job) -> Outcomes:
    """Return what a contestant made of a history: from the folder of results, if it is there."""
    if job.file.is_file():
        return Outcomes.of_json(json.loads(job.file.read_text(encoding="utf-8")))
    (history,) = read_histories(job.data, [job.history])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if job.python:
            peer = peer_of(job.contestant, learn_by_hand(history), folder / "peer" / "states")
            outcomes = run_peer(history, peer, job.python, job.injections, folder / "peer")
        else:
            outcomes = run_ours(history, _text_of_ours(job, history, folder), job.injections, folder / "ours")
    draft = job.file.with_suffix(".draft")
    draft.write_text(json.dumps(outcomes.as_json()), encoding="utf-8")
    draft.rename(job.file)
    return outcomes


def _text_of_ours(job: Job, history: RealHistory, folder: Path) -> str:
    how = OURS[job.contestant]
    if how == "hand":
        return by_hand_text(learn_by_hand(history))
    return init_text(history, folder / "init", with_suggestions=how == "suggest")
