"""Other tools on the same states: each as its quick start says, and with the rules of `knowledge` by hand.

A tool runs in the Python of its own environment, as a process that is sent one state after the other and answers with
what fails or cannot be evaluated: a folder with Parquet files, and the time. What is thrown is an alarm.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from benchmarks.faultline.faults import RUNS, Injection, write_state
from benchmarks.faultline.histories import HOUR, RealHistory
from benchmarks.faultline.knowledge import Knowledge
from benchmarks.faultline.scores import Outcomes, Verdict

_LOOP: Final = """
for line in sys.stdin:
    asked, begun = json.loads(line), time.process_time()
    try:
        alarms = judge(asked["now"], asked["folder"])
    except Exception as error:
        alarms = ["not evaluated: " + type(error).__name__]
    answer = {"alarms": sorted(set(alarms)), "cpu": time.process_time() - begun}
    print("> " + json.dumps(answer), flush=True)
"""
_BEGIN: Final = """
import json, logging, os, sys, time, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
setup = json.loads(sys.stdin.readline())
"""
_SODA: Final = """
import duckdb
from soda_core.common.yaml import ContractYamlSource, DataSourceYamlSource
from soda_core.contracts.contract_verification import ContractVerificationSession
open("source.yml", "w").write(setup["source"])
def judge(now, folder):
    with duckdb.connect("peer.duckdb") as database:
        for name in setup["tables"]:
            database.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM '{folder}/{name}.parquet'")
    done = ContractVerificationSession.execute(
        [ContractYamlSource.from_str(text) for text in setup["contracts"]],
        data_source_yaml_sources=[DataSourceYamlSource.from_file_path("source.yml")],
        variables={"NOW": now},
    )
    checks = [check for result in done.contract_verification_results for check in result.check_results]
    alarms = [check.check.name for check in checks if check.outcome.name == "FAILED"]
    whole = len(checks) == setup["expected"] and not done.has_errors
    return alarms + ([] if whole else ["not evaluated"])
"""
_PANDERA: Final = """
import pandas as pd, pandera.pandas as pa
schema, hand = None, setup.get("hand")
if hand:
    columns = {}
    for name, type_ in hand["types"].items():
        checks = []
        if name in hand["values"]: checks.append(pa.Check.isin(hand["values"][name], name="values"))
        if name in hand["limits"]: checks.append(pa.Check.in_range(*hand["limits"][name], name="range"))
        if name in hand["missing"]:
            most = hand["missing"][name]
            checks.append(pa.Check(lambda s, most=most: s.isna().mean() <= most, name="missing", ignore_na=False))
        columns[name] = pa.Column(type_, checks, nullable=name in hand["missing"])
def of_tables(now, frame, dimension):
    age = lambda times: (now - times.max()).total_seconds() / 3600
    load = frame[frame["loaded_at"] > now - pd.Timedelta(hours=hand["hours"])]
    yield "fresh", age(frame["loaded_at"]) < hand["age"]
    yield "rows", hand["rows"][0] <= len(load) <= hand["rows"][1]
    if hand["mean"]:
        name, low, high = hand["mean"]
        yield "mean", not load[name].count() or low <= load[name].mean() <= high
    if hand["event"]: yield "event", (frame[hand["event"]] <= frame["loaded_at"]).all()
    if dimension is not None:
        yield "dimension", age(dimension["loaded_at"]) < hand["hours"] / 2
        column, key = hand["reference"]
        yield "reference", frame[column].dropna().isin(dimension[key]).all()
def judge(now, folder):
    global schema
    frame = pd.read_parquet(f"{folder}/{setup['tables'][0]}.parquet")
    alarms = []
    if schema is None and hand:
        schema = pa.DataFrameSchema(columns, unique=hand["key"], strict=True)
    if schema is None:
        schema = pa.infer_schema(frame)
        for name in setup["growing"]:
            schema = schema.update_column(name, checks=[])
    try:
        schema.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        cases = error.failure_cases
        alarms += [f"{column}: {check}" for column, check in zip(cases["column"], cases["check"])]
    if hand:
        dimension = pd.read_parquet(f"{folder}/dimension.parquet") if len(setup["tables"]) > 1 else None
        time_of_run = pd.Timestamp(now).tz_localize(None)
        alarms += [name for name, holds in of_tables(time_of_run, frame, dimension) if not holds]
    return alarms
"""
_GX: Final = """
import pandas as pd, great_expectations as gx
context = gx.get_context(mode="ephemeral")
context.variables.progress_bars = {"globally": False, "metric_calculations": False}
source, e, hand = context.data_sources.add_pandas("p"), gx.expectations, setup.get("hand")
assets = {name: source.add_dataframe_asset(name) for name in ("all", "load", "dimension")}
made = {name: asset.add_batch_definition_whole_dataframe("all") for name, asset in assets.items()}
def between(name, limits): return e.ExpectColumnValuesToBeBetween(column=name, min_value=limits[0], max_value=limits[1])
def newer(time): return e.ExpectColumnMaxToBeBetween(column="loaded_at", min_value=time)
def suites(now, frame, dimension):
    if not hand:
        first = [e.ExpectColumnValuesToNotBeNull(column=setup["key"][0])]
        limits = [between(setup["limits"][0], setup["limits"][1:])] if setup["limits"] else []
        yield "all", frame, first + limits
        return
    key = hand["key"]
    together = len(key) > 1 and e.ExpectCompoundColumnsToBeUnique(column_list=key)
    checks = [together or e.ExpectColumnValuesToBeUnique(column=key[0])]
    checks.append(e.ExpectTableColumnsToMatchSet(column_set=list(hand["types"]), exact_match=True))
    for name, type_ in hand["types"].items():
        if type_: checks.append(e.ExpectColumnValuesToBeOfType(column=name, type_=type_))
        checks.append(e.ExpectColumnValuesToNotBeNull(column=name, mostly=1 - hand["missing"].get(name, 0)))
        if name in hand["values"]:
            checks.append(e.ExpectColumnValuesToBeInSet(column=name, value_set=hand["values"][name]))
        if name in hand["limits"]: checks.append(between(name, hand["limits"][name]))
    if dimension is not None:
        column, key = hand["reference"]
        checks.append(e.ExpectColumnValuesToBeInSet(column=column, value_set=dimension[key].tolist()))
        yield "dimension", dimension, [newer(now - pd.Timedelta(hours=hand["hours"] / 2))]
    checks.append(newer(now - pd.Timedelta(hours=hand["age"])))
    if hand["event"]:
        times = {"column_A": "loaded_at", "column_B": hand["event"]}
        checks.append(e.ExpectColumnPairValuesAToBeGreaterThanB(**times, or_equal=True))
    yield "all", frame, checks
    load = frame[frame["loaded_at"] > now - pd.Timedelta(hours=hand["hours"])]
    of_load = [e.ExpectTableRowCountToBeBetween(min_value=hand["rows"][0], max_value=hand["rows"][1])]
    if hand["mean"] and len(load):
        name, low, high = hand["mean"]
        of_load.append(e.ExpectColumnMeanToBeBetween(column=name, min_value=low, max_value=high))
    yield "load", load, of_load
def judge(now, folder):
    now, alarms = pd.Timestamp(now).tz_localize(None), []
    frame = pd.read_parquet(f"{folder}/{setup['tables'][0]}.parquet")
    dimension = pd.read_parquet(f"{folder}/dimension.parquet") if len(setup["tables"]) > 1 else None
    for name, data, checks in suites(now, frame, dimension):
        batch = made[name].get_batch({"dataframe": data})
        found = batch.validate(gx.ExpectationSuite(name="s", expectations=checks), result_format="BOOLEAN_ONLY")
        for number, result in enumerate(found.results):
            if not result.success:
                config = result.expectation_config
                alarms.append(f"{name}: {config.type} {config.kwargs.get('column')}")
    return alarms
"""
_DBT: Final = """
from dbt.cli.main import dbtRunner
for name, text in setup["files"].items():
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    open(name, "w").write(text)
parsed = None
def judge(now, folder):
    global parsed
    open("clock.csv", "w").write("now\\n" + now[:19].replace("T", " ") + "\\n")
    os.environ["FAULTLINE_FOLDER"] = folder
    words = ["--quiet", "--no-send-anonymous-usage-stats", "--no-partial-parse", "--profiles-dir", "."]
    if parsed is None:
        parsed = dbtRunner().invoke(["parse", *words]).result
    done = dbtRunner(manifest=parsed).invoke(["test", *words])
    results = getattr(done.result, "results", None)
    if results is None: return ["not evaluated: " + type(done.exception).__name__]
    return [result.node.name for result in results if result.status != "pass"]
"""
_PANDAS_TYPES: Final = {"BIGINT": "int64", "DOUBLE": "float64", "VARCHAR": "str", "TIMESTAMP": "datetime64[us]"}
_GX_TYPES: Final = {"BIGINT": "int64", "DOUBLE": "float64", "VARCHAR": "str", "TIMESTAMP": ""}


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool with a configuration: its name on the page, its program, what it is sent first, lines to write."""

    name: str
    program: str
    setup: Mapping[str, Any]
    lines: int


TOOLS: Final = {"soda": "soda-duckdb", "dbt": "dbt-duckdb", "gx": "great-expectations", "pandera": "pandera[pandas]"}
"""The tools by the name of their environment, with the package that it holds."""
PEERS: Final = {
    "Soda, quick start": "soda",
    "Soda, by hand": "soda",
    "dbt tests, quick start": "dbt",
    "dbt tests, by hand": "dbt",
    "Great Expectations, quick start": "gx",
    "Great Expectations, by hand": "gx",
    "pandera, `infer_schema`": "pandera",
    "pandera, by hand": "pandera",
}


def version_of(tool: str, python: str) -> str:
    """Return the version of a tool in its environment."""
    package = TOOLS[tool].partition("[")[0]
    code = f"from importlib.metadata import version; print(version('{package}'))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def peer_of(name: str, knowledge: Knowledge, states: Path) -> Peer:
    """Return a peer for a history; `states` is the folder in which each state lies."""
    history, is_hand = knowledge.history, name.endswith("by hand")
    base = {"tables": [history.name, *(["dimension"] if history.has_dimension else [])]}
    match PEERS[name]:
        case "soda":
            return _soda(name, _contracts(knowledge) if is_hand else _quick_contracts(history), base)
        case "dbt":
            return _dbt(name, _tests(knowledge) if is_hand else _quick_tests(knowledge), states)
        case "gx" if is_hand:
            return Peer(name, _GX, {**base, "hand": _by_hand(knowledge, _GX_TYPES)}, _rules(knowledge))
        case "gx":
            first = next(iter(knowledge.limits.items()), None)
            quick = {"key": [*history.shape.key], "limits": first and [first[0], *first[1]]}
            return Peer(name, _GX, {**base, **quick}, 2)
        case _ if is_hand:
            return Peer(name, _PANDERA, {**base, "hand": _by_hand(knowledge, _PANDAS_TYPES)}, _rules(knowledge))
        case _:
            return Peer(name, _PANDERA, {**base, "growing": _growing(history)}, 2)


def _growing(history: RealHistory) -> Sequence[str]:
    """Return the columns whose largest value grows with every load: whole numbers that are no measures, and times."""
    shape = history.shape
    types = {name: type_ for name, type_ in shape.columns.items() if name not in shape.numbers}
    return [*(name for name, type_ in types.items() if type_ in {"BIGINT", "TIMESTAMP"}), "loaded_at"]


def _rules(knowledge: Knowledge) -> int:
    """Count the rules of a configuration by hand that has one line for each column and each rule of the table."""
    shape = knowledge.history.shape
    return len(shape.columns) + 5 + bool(knowledge.load_means) + bool(shape.event) + 2 * bool(shape.reference)


def _by_hand(knowledge: Knowledge, types: Mapping[str, str]) -> Mapping[str, Any]:
    history, shape = knowledge.history, knowledge.history.shape
    return {
        "key": [*shape.key],
        "types": {name: types[type_] for name, type_ in {**shape.columns, "loaded_at": "TIMESTAMP"}.items()},
        "missing": knowledge.missing,
        "values": knowledge.values,
        "limits": knowledge.limits,
        "reference": shape.reference,
        "age": knowledge.max_age_hours,
        "hours": history.period / HOUR,
        "rows": knowledge.load_rows,
        "mean": knowledge.load_means,
        "event": shape.event,
    }


_SODA_TYPES: Final = {"BIGINT": "bigint", "DOUBLE": "double", "VARCHAR": "varchar", "TIMESTAMP": "timestamp"}
_NONE: Final = {"must_be": 0}


def _soda(name: str, contracts: Sequence[Mapping[str, Any]], base: Mapping[str, Any]) -> Peer:
    source = {"name": "s", "type": "duckdb", "connection": {"database": "peer.duckdb", "read_only": True}}
    checks = sum(
        len(contract.get("checks", ())) + sum(len(column.get("checks", ())) for column in contract.get("columns", ()))
        for contract in contracts
    )
    lines = sum(2 + len(contract.get("columns", ())) + len(contract.get("checks", ())) for contract in contracts)
    texts = [json.dumps(contract) for contract in contracts]
    return Peer(name, _SODA, {**base, "source": json.dumps(source), "contracts": texts, "expected": checks}, lines)


def _quick_contracts(history: RealHistory) -> Sequence[Mapping[str, Any]]:
    """Return a contract as the quick start has it: schema, rows, and a key that is there once."""
    columns: list[dict[str, Any]] = [
        {"name": name, "data_type": _SODA_TYPES[type_]} for name, type_ in history.shape.columns.items()
    ]
    key = history.shape.key
    for column in columns:
        if column["name"] in key:
            column |= {"checks": [{"missing": {"name": f"missing {column['name']}"}}]}
    columns.append({"name": "loaded_at", "data_type": "timestamp"})
    checks = [
        {"schema": {"name": "schema"}},
        {"row_count": {"name": "rows"}},
        {"duplicate": {"name": "key", "columns": [*key]}},
    ]
    return [{"dataset": f"s/main/{history.name}", "columns": columns, "checks": checks}]


def _contracts(knowledge: Knowledge) -> Sequence[Mapping[str, Any]]:
    history, shape = knowledge.history, knowledge.history.shape
    columns: list[dict[str, Any]] = []
    for name, type_ in shape.columns.items():
        most = {"metric": "percent", "must_be_less_than_or_equal": 100 * knowledge.missing.get(name, 0)}
        checks: list[Mapping[str, Any]] = [{"missing": {"name": f"missing {name}", "threshold": most}}]
        if name in knowledge.values:
            checks.append(
                {"invalid": {"name": f"values {name}", "qualifier": "v", "valid_values": knowledge.values[name]}}
            )
        if name in knowledge.limits:
            low, high = knowledge.limits[name]
            checks.append({"invalid": {"name": f"range {name}", "qualifier": "r", "valid_min": low, "valid_max": high}})
        if shape.reference is not None and name == shape.reference[0]:
            data = {"dataset": "s/main/dimension", "column": shape.reference[1]}
            checks.append({"invalid": {"name": f"reference {name}", "qualifier": "f", "valid_reference_data": data}})
        columns.append({"name": name, "data_type": _SODA_TYPES[type_], "checks": checks})
    columns.append({"name": "loaded_at", "data_type": "timestamp"})
    recent = f"loaded_at > CAST('${{var.NOW}}' AS TIMESTAMPTZ)::TIMESTAMP - INTERVAL {int(history.period / HOUR)} HOUR"
    low, high = knowledge.load_rows
    between = {"must_be_between": {"greater_than_or_equal": low, "less_than_or_equal": high}}
    checks = [
        {"schema": {"name": "schema"}},
        {"duplicate": {"name": "key", "columns": [*shape.key]}},
        {"row_count": {"name": "rows", "filter": recent, "threshold": between}},
        _freshness("fresh", knowledge.max_age_hours),
    ]
    if shape.event is not None:
        checks.append({"failed_rows": {"name": "event", "expression": f'"{shape.event}" > loaded_at'}})
    if knowledge.load_means is not None:
        name, least, most_ = knowledge.load_means
        limits = {"must_be_between": {"greater_than_or_equal": least, "less_than_or_equal": most_}}
        mean = {"name": "mean", "function": "avg", "filter": recent, "threshold": limits}
        next(column for column in columns if column["name"] == name)["checks"].append({"aggregate": mean})
    variables = {"NOW": {"type": "timestamp"}}
    contracts: list[Mapping[str, Any]] = [
        {"dataset": f"s/main/{history.name}", "variables": variables, "columns": columns, "checks": checks}
    ]
    if history.has_dimension:
        fresh = _freshness("fresh dimension", history.period / HOUR / 2)
        contracts.append({"dataset": "s/main/dimension", "variables": variables, "columns": [], "checks": [fresh]})
    return contracts


def _freshness(name: str, hours: float) -> Mapping[str, Any]:
    least = {"unit": "minute", "must_be_less_than": 60 * hours}
    return {"freshness": {"name": name, "column": "loaded_at", "now_variable": "NOW", "threshold": least}}


def _dbt(name: str, tests: tuple[Mapping[str, Any], Mapping[str, str]], folder: Path) -> Peer:
    sources, singular = tests
    files = {
        "dbt_project.yml": "name: faultline\nprofile: faultline\nversion: '1.0'\n",
        "profiles.yml": json.dumps(
            {"faultline": {"target": "d", "outputs": {"d": {"type": "duckdb", "path": ":memory:", "threads": 1}}}}
        ),
        "models/sources.yml": json.dumps({"version": 2, "sources": [{**sources, "meta": _place(folder)}]}),
        **{f"tests/{word}.sql": sql for word, sql in singular.items()},
    }
    lines = 3 + sum(2 + len(table.get("columns", ())) for table in sources["tables"]) + len(singular)
    return Peer(name, _DBT, {"files": files}, lines)


def _place(folder: Path) -> Mapping[str, str]:
    return {"external_location": f"read_parquet('{folder}/{{name}}.parquet')"}


def _quick_tests(knowledge: Knowledge) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the tests of the quick start: unique and not null keys, accepted values, a reference."""
    history, shape = knowledge.history, knowledge.history.shape
    columns: dict[str, list[Any]] = {name: ["not_null"] for name in shape.key}
    if len(shape.key) == 1:
        columns[shape.key[0]].append("unique")
    for name, values in list(knowledge.values.items())[:1]:
        columns.setdefault(name, []).append({"accepted_values": {"arguments": {"values": [*values]}}})
    if shape.reference is not None:
        columns.setdefault(shape.reference[0], []).append(_relationship(shape.reference[1]))
    return _sources(history, columns), {}


def _relationship(key: str) -> Mapping[str, Any]:
    return {"relationships": {"arguments": {"to": "source('main', 'dimension')", "field": key}}}


def _sources(history: RealHistory, columns: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
    tested = [{"name": name, "data_tests": [*tests]} for name, tests in columns.items()]
    tables: list[Mapping[str, Any]] = [{"name": history.name, "columns": tested}]
    return {"name": "main", "tables": [*tables, *([{"name": "dimension"}] if history.has_dimension else [])]}


def _tests(knowledge: Knowledge) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    history, shape = knowledge.history, knowledge.history.shape
    columns: dict[str, list[Any]] = {name: ["not_null"] for name in knowledge.not_null}
    for name, values in knowledge.values.items():
        columns.setdefault(name, []).append({"accepted_values": {"arguments": {"values": [*values]}}})
    if shape.reference is not None:
        columns.setdefault(shape.reference[0], []).append(_relationship(shape.reference[1]))
    here, now = f"{{{{ source('main', '{history.name}') }}}}", "(SELECT now FROM read_csv('clock.csv'))"
    hours, (low, high) = int(history.period / HOUR), knowledge.load_rows
    recent = f"FROM {here} WHERE loaded_at > {now} - INTERVAL {hours} HOUR"
    key = ", ".join(f'"{name}"' for name in shape.key)
    minutes = int(60 * knowledge.max_age_hours)
    singular = {
        "key": f"SELECT {key} FROM {here} GROUP BY {key} HAVING count(*) > 1",
        "fresh": f"SELECT 1 FROM {here} HAVING max(loaded_at) < {now} - INTERVAL {minutes} MINUTE",
        "rows": f"SELECT 1 {recent} HAVING count(*) NOT BETWEEN {low} AND {high}",
        "types": " UNION ALL ".join(
            f"SELECT 1 FROM (SELECT any_value(typeof(\"{name}\")) AS t FROM {here}) WHERE t <> '{type_}'"
            for name, type_ in shape.columns.items()
        ),
    }
    if knowledge.limits:
        wrong = " OR ".join(
            f'"{name}" NOT BETWEEN {least} AND {most}' for name, (least, most) in knowledge.limits.items()
        )
        singular["ranges"] = f"SELECT 1 FROM {here} WHERE {wrong}"
    if knowledge.missing:
        many = " OR ".join(f'1 - count("{name}") / count(*) > {most}' for name, most in knowledge.missing.items())
        singular["missing"] = f"SELECT 1 FROM {here} HAVING {many}"
    if shape.event is not None:
        singular["event"] = f'SELECT 1 FROM {here} WHERE "{shape.event}" > loaded_at'
    if knowledge.load_means is not None:
        name, least, most = knowledge.load_means
        singular["mean"] = f'SELECT 1 {recent} HAVING avg("{name}") NOT BETWEEN {least} AND {most}'
    if history.has_dimension:
        other = "{{ source('main', 'dimension') }}"
        minutes = int(30 * history.period / HOUR)
        singular["fresh_dimension"] = f"SELECT 1 FROM {other} HAVING max(loaded_at) < {now} - INTERVAL {minutes} MINUTE"
    return _sources(history, columns), singular


class _PeerProcess:
    """A tool that runs and is sent states."""

    def __init__(self, sent: IO[str], answers: IO[str], folder: Path) -> None:
        self._sent, self._answers, self._folder = sent, answers, folder
        self.states, self.cpu = 0, 0.0

    def judge(self, now: datetime) -> Verdict:
        """Return what the tool says of the state that lies in the folder."""
        self._sent.write(json.dumps({"now": now.isoformat(), "folder": str(self._folder)}) + "\n")
        self._sent.flush()
        for line in self._answers:
            if line.startswith("> "):
                answer = json.loads(line[2:])
                self.states, self.cpu = self.states + 1, self.cpu + answer["cpu"]
                return Verdict(frozenset(answer["alarms"]))
        raise RuntimeError("the tool ended")


@contextmanager
def _running(peer: Peer, python: str, states: Path, home: Path) -> Iterator[_PeerProcess]:
    (home / "peer.py").write_text(_BEGIN + peer.program + _LOOP, encoding="utf-8")
    quiet = {"OTEL_SDK_DISABLED": "true", "DO_NOT_TRACK": "1", "PATH": "/usr/bin:/bin", "HOME": str(home)}
    with (home / "err").open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [python, "peer.py"],
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**quiet, "TZ": "UTC"},
        )
        try:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the tool has no pipes")
            process.stdin.write(json.dumps(peer.setup) + "\n")
            yield _PeerProcess(process.stdin, process.stdout, states)
        finally:
            process.kill()
            process.wait()


def run_peer(history: RealHistory, peer: Peer, python: str, injections: Sequence[Injection], folder: Path) -> Outcomes:
    """Judge every clean run of a history, then each injection at up to `RUNS` runs."""
    states, home = folder / "states", folder / "home"
    states.mkdir(parents=True, exist_ok=True)
    home.mkdir()
    with _running(peer, python, states, home) as tool:
        clean: dict[int, Verdict] = {}
        for run in range(history.warm - 1, history.runs):  # the last run of the warm-up is what it may infer from
            write_state(history, run, None, states)
            clean[run] = tool.judge(history.now(run))
        found: dict[int, int | None] = {}
        for injection in injections:
            found[injection.seed] = None
            for number in range(RUNS):
                run = injection.load + number
                write_state(history, run, injection, states)
                if tool.judge(history.now(run)).beyond(clean[run]):
                    found[injection.seed] = number + 1
                    break
    del clean[history.warm - 1]
    return Outcomes(clean, found, tool.states, tool.cpu, peer.lines)
