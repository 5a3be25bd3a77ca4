"""Which tests run when: `make test` runs those that are quick, `make test-all` all of them.

    --tier quick   every function but those of `slow.txt`; of its cases as many as show each value of each parameter
                   once; of a function marked `*` in `slow.txt`, one case; a fifth of the examples
    --tier change  what `.ci/run` asks of a change: of a slow function marked `combinations` the cases whose ids have
                   the least hashes, up to `CASES_S` seconds of them; a third of the examples, kills and faults
    --tier all     everything (the default)
    --tier search  properties only, each with ten times as many examples

`slow.txt` is written from the times of a whole run: `python -m tests.tiers FILE.xml` (from `pytest --junitxml`). A
function is in it if its cases together take more than `QUICK_S`. Its times also decide what begins first, so that two
processes end together; what needs Spark runs in one process, since each would start a Java machine of its own. So does
microaggregation, since each would compile its kernels (80 s of a processor where none is kept).

    --passed=FILE    write the ids of the tests that passed, each on a line
    --without=FILE   leave those tests out, but for properties: a quick run tries fewer of their examples
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any, Final, TextIO
from xml.etree import ElementTree as ET

import pytest

from tests.needs import needs_of

QUICK_S: Final = 0.75
"""Seconds that a function of the quick tier takes at most, all its cases together, with two processes on two cores."""
_FIRST_CASE_S: Final = 0.4
"""Of a slower function the first case runs, if no case takes longer than this."""
_ROOM: Final = Path(__file__).parent
_LIST: Final = _ROOM / "slow.txt"
_SLOW_FILES: Final = frozenset(
    {
        "crash/test_injected_faults.py",
        "monitor/demo/test_demo.py",
        "monitor/summaries/test_one_computation.py",
        "privacy/test_canaries.py",
        "privacy/test_expectations.py",
        "privacy/test_servers.py",
    }
)
"""Files whose tests share something that takes long to make: they are left out as a whole, as is Spark."""
CASES_S: Final = 5.0
"""Seconds that combinations of one function take together in the tier of a change, unless three take longer."""
_SHARES: Final = {"quick": 0.2, "change": 1 / 3, "all": 1.0, "search": 10.0}


@dataclass(frozen=True, slots=True)
class Slow:
    """A slow function. `first`: whether its first case is quick."""

    seconds: float
    first: bool


_share = _SHARES["all"]


def examples(count: int) -> int:
    """Return how many examples of a property are tried in the tier: from a fifth of `count` to ten times as many."""
    return max(5, round(count * _share))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tier`."""
    parser.addoption("--tier", choices=tuple(_SHARES), default="all", help="which tests run; see tests/tiers.py")
    parser.addoption("--passed", type=Path, help="file that the ids of the tests that passed are written to")
    parser.addoption("--without", type=Path, help="file with ids of tests to leave out, but not properties")


def write_passed(config: pytest.Config) -> None:
    """Write the ids of the tests that passed where `--passed` asks for them."""
    if (file := config.getoption("--passed")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Passed(file.open("w", encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class _Passed:
    """Writes the ids of tests as they pass."""

    file: TextIO

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.file.write(f"{report.nodeid}\n")

    def pytest_unconfigure(self) -> None:
        self.file.close()


def remember_tier(config: pytest.Config) -> None:
    """Remember the tier before test modules are imported."""
    global _share  # noqa: PLW0603 - decorators read it while modules are imported
    _share = _SHARES[config.getoption("--tier")]


def slow_functions() -> Mapping[str, Slow]:
    """Return the slow functions by id, such as `checks/test_range.py::test_x`."""
    lines = (line.split() for line in _LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {words[-1]: Slow(float(words[0]), "*" in words) for words in lines}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tier, and begin with the files that take longest; the rest keeps its order."""
    slow, tier = slow_functions(), config.getoption("--tier")
    seconds: dict[Path, float] = defaultdict(float)
    for name in {_function(item): item.path for item in items}.items():
        seconds[name[1]] += slow[name[0]].seconds if name[0] in slow else 0.0
    if tier == "quick":
        quick = set(_quick(items, slow))
        _keep(config, items, lambda item: item.nodeid in quick)
    elif tier == "change":
        sample = _sample(items, slow)
        _keep(config, items, lambda item: item.nodeid in sample)
    elif tier == "search":
        _keep(config, items, _is_property)
    if file := config.getoption("--without"):
        passed = set(file.read_text(encoding="utf-8").splitlines())
        _keep(config, items, lambda item: item.nodeid not in passed or _is_property(item))
    items.sort(key=lambda item: -seconds[item.path])


def _keep(config: pytest.Config, items: list[pytest.Item], wanted: Callable[[pytest.Item], bool]) -> None:
    kept, left_out = [], []
    for item in items:
        (kept if wanted(item) else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def _quick(items: Sequence[pytest.Item], slow: Mapping[str, Slow]) -> Iterator[str]:
    """Yield the ids of the tests of the quick tier; cases are taken by their names, since their order is random."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        function = _function(item)
        if function.split("::")[0] not in _SLOW_FILES and not item.get_closest_marker("spark"):
            cases[function].append(item)
    for function, of_function in cases.items():
        if function not in slow:
            yield from _showing_each_value(of_function)
        elif slow[function].first:
            yield min(item.nodeid for item in of_function)


def _showing_each_value(cases: Sequence[pytest.Item]) -> Iterator[str]:
    """Yield the ids of cases that together have each value of each parametrisation, first of those that need least.

    A function with one parametrisation keeps all its cases; of combinations of two and more the others are left out,
    unless the function skips some of them itself.
    """
    seen: set[tuple[object, ...]] = set()
    for item in sorted(cases, key=lambda item: (len(needs_of(item)), _hash(item.nodeid))):
        values = set(_values(item))
        if not values or values - seen:
            seen |= values
            yield item.nodeid


def _values(item: pytest.Item) -> Iterator[tuple[object, ...]]:
    """Yield the value of each parametrisation of a case by its arguments; nothing if the function skips cases."""
    if not isinstance(item, pytest.Function) or "skip" in item.function.__code__.co_names:
        return
    values = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        known = [name.strip() for name in names if name.strip() in values]
        yield (*known, *(id(values.pop(name)) for name in known))
    yield from ((name, id(value)) for name, value in values.items())


def _hash(name: str) -> bytes:
    return sha256(name.encode()).digest()


def _sample(items: Sequence[pytest.Item], slow: Mapping[str, Slow]) -> set[str]:
    """Return the ids of all tests but the combinations that would take a function above `CASES_S`."""
    cases: dict[str, list[str]] = defaultdict(list)
    for item in items:
        cases[_function(item) if item.get_closest_marker("combinations") else item.nodeid].append(item.nodeid)
    for function in cases.keys() & slow.keys():
        cases[function].sort(key=_hash)
        del cases[function][max(3, ceil(len(cases[function]) * CASES_S / slow[function].seconds)) :]
    return {name for ids in cases.values() for name in ids}


def _function(item: pytest.Item) -> str:
    path = item.path.relative_to(_ROOM).as_posix() if item.path.is_relative_to(_ROOM) else item.path.name
    parts = item.nodeid.split("[", 1)[0].split("::")[1:]
    return "::".join([path, *parts])


def _is_property(item: pytest.Item) -> bool:
    function = getattr(item, "obj", None)
    return bool(getattr(function, "is_hypothesis_test", False)) or item.nodeid.endswith("::runTest")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Callable[..., None]) -> Any:
    """Return each file to one process as `--dist loadfile` does, but all of Spark, and all that compiles, to one."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileAndNeed(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if "spark" in nodeid.lower():
                return "spark"
            file: str = super()._split_scope(nodeid)
            return "microaggregation" if "microaggregat" in file else file

    return ByFileAndNeed(config, log)


def _times(report: Path) -> Mapping[str, Sequence[float]]:
    """Return the seconds of each case of each function, from a report of a whole run."""
    results: dict[str, list[float]] = defaultdict(list)
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - written by pytest, read by its author
        words = (case.get("classname") or "").split(".")[1:]
        split = next(n for n in range(len(words), 0, -1) if (_ROOM / f"{'/'.join(words[:n])}.py").is_file())
        parts = [f"{'/'.join(words[:split])}.py", *words[split:], (case.get("name") or "").split("[")[0]]
        results["::".join(parts)].append(float(case.get("time") or 0))
    return results


def write_list(report: Path) -> None:
    """Write `slow.txt`, the slowest function first."""
    lines = [
        (sum(seconds), "*" if len(seconds) > 1 and max(seconds) <= _FIRST_CASE_S else " ", name)
        for name, seconds in _times(report).items()
        if sum(seconds) > QUICK_S
    ]
    head = "# seconds of all cases, `*` if the first one is quick, function; written by `python -m tests.tiers`\n"
    text = "".join(f"{seconds:8.1f} {mark} {name}\n" for seconds, mark, name in sorted(lines, reverse=True))
    _LIST.write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    write_list(Path(sys.argv[1]))
