"""A project over planted tables in a folder of its own, and everything that Tablewatch leaves there or says.

What belongs to the user (the tables, the configuration, a file with a password) lies in `data/` and `work/`. All the
rest is searched: the store with its log, reports, copies, crash reports, HOME, TMPDIR, the standard streams, what
arrived at the other ends of alerts, and the command lines of processes.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.monitor.alerts.receivers import Receiver
from tests.privacy.cases import SLIPS, checks_of, expectations
from tests.privacy.tokens import SECRET, Tokens, found_in

ROOT: Final = Path(__file__).resolve().parents[2]
INJECTED: Final = Path(__file__).resolve().parent / "injected"
PATIENCE_S: Final = 240.0
NOW: Final = datetime.now(UTC).replace(microsecond=0)
LAST_WEEK: Final = NOW - timedelta(days=NOW.isoweekday() + 3)

_USERS: Final = ("work/tablewatch.yaml", "work/password", "work/hook.secret", "work/torn", "work/given")


_CLOSED: Final = {"url": "http://127.0.0.1:1", "allow_private": True}
FOLLOWING: Final = {
    "pager": {"pagerduty": {**_CLOSED, "routing_key": f"{SECRET}key"}},
    "bot": {"slack": {**_CLOSED, "token": f"xoxb-{SECRET}bot", "channel": "C1"}},
    "issues": {"jira": {**_CLOSED, "email": "agent@example.org", "token": f"{SECRET}jira", "project": "OPS"}},
    "records": {"servicenow": {**_CLOSED, "user": "agent", "password": f"{SECRET}now"}},
}
"""Channels that follow incidents, at an unused port; no route leads to them."""


@dataclass
class Place:
    """A folder: `data/` with the sources, `work/` with the configuration, `home/`, `tmp/` and `said/`."""

    folder: Path
    hook: Receiver
    door: Receiver
    tokens: Tokens = field(default_factory=Tokens)
    sources: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)
    seen: dict[str, bytes] = field(default_factory=dict)
    """What was there for a while only."""
    open: set[str] = field(default_factory=set)
    """Files that other users could access at some time."""

    def __post_init__(self) -> None:
        """Make the folders that are the user's."""
        for name in ("data", "work", "home", "tmp", "said"):
            (self.folder / name).mkdir(mode=0o700)

    @property
    def work(self) -> Path:
        """Return the folder in which commands are run."""
        return self.folder / "work"

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of commands: secrets, and folders of their own."""
        path = os.pathsep.join((str(INJECTED), str(ROOT)))
        own = {"PYTHONPATH": path, "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp")}
        return os.environ | own | {"NO_COLOR": "1", "CANARY_PASSWORD": f"{SECRET}env p@ss/w:rd%"}

    def watch(
        self,
        name: str,
        source: Mapping[str, Any],
        *,
        expects: bool,
        full: bool = True,
        within: str = "",
        **schedule: str,
    ) -> None:
        """Watch the planted tables of one engine with every case.

        `expects`: with Great Expectations too; `full`: the good table as well as the bad one; `within` stands before
        the names of the tables in the source.
        """
        self.add(name, source)
        for table, other in (("people", "tidy"), ("tidy", "people")):
            checks = checks_of(f"{within}{table}", f"{name}.{other}")
            if not expects or table == "tidy":
                checks = [check for check in checks if check["type"] != "expectation"]
            plan = schedule if table == "people" else {}
            self.table(f"{name}.{table}", name, f"{within}{table}", checks if table == "people" or full else [], **plan)
        for slip, check in SLIPS.items():
            self.table(f"{name}.{slip}_slip", name, f"{within}people", [check], **schedule)

    def add(self, name: str, source: Mapping[str, Any]) -> None:
        """Add a source; what it says of files is relative to its folder of data."""
        self.sources[name] = {"timezone": "UTC", **_placed(source, self.folder / "data")}

    def table(self, name: str, source: str, table: str, checks: Sequence[Mapping[str, Any]], **more: Any) -> None:
        """Watch a table."""
        self.tables.append(
            {"name": name, "source": source, "table": table, "owner": "desk", "loaded_at": "loaded_at", "tier": "gold"}
            | {"checks": list(checks)}
            | more
        )

    def expect(self, source: str, **more: Any) -> None:
        """Watch a table with every expectation of Great Expectations."""
        self.table(f"{source}.expected", source, "people", expectations(), **more)

    def configure(
        self,
        *,
        storage: str | None = None,
        tables: Sequence[Mapping[str, Any]] | None = None,
        daemon: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the configuration, with a secret in every place that may hold one."""
        (self.work / "password").write_text(f"{SECRET}file\n", encoding="utf-8")
        (self.work / "hook.secret").write_text(f"{SECRET}hookkey of the signature\n", encoding="utf-8")
        weekly = {"cron": "0 * * * *", "locales": ["en", "ja"], "to": ["hook", "door"], "keep": "kept/of/weeks"}
        config: dict[str, Any] = {
            "version": 1,
            "project": "canaries",
            "storage": {"url": storage or f"sqlite:///{self.work}/store.db"},
            "sources": self.sources | _closed_doors(),
            "owners": {"desk": {"name": "The desk", "channel": "hook"}},
            "cost": {"currency": "JPY", "tiers": {"gold": {"per_hour": 120000}}},
            "alerts": self._alerts(),
            "report": {"weekly": weekly},
            "daemon": {"jitter": "0s", "workers": 2, "metrics": "off",
                       "heartbeat_url": f"http://127.0.0.1:{self.hook.port}/ping/{SECRET}ping", **(daemon or {})},
            "tables": self.tables + _behind_closed_doors() if tables is None else tables,
        }  # fmt: skip
        config["products"] = {"first": {"tables": [config["tables"][0]["name"]], "consumers": ["the board"]}}
        (self.work / "tablewatch.yaml").write_text(json.dumps(config, indent=1), encoding="utf-8")

    def _alerts(self) -> dict[str, Any]:
        hook = {"url": f"{self.hook.url}/{SECRET}hook", "secret": "${file:hook.secret}", "allow_private": True}
        login = f"{SECRET}door:{SECRET}doorpass"
        channels = {
            "hook": {"webhook": hook},
            "door": {"apprise": f"json://{login}@127.0.0.1:{self.door.port}/{SECRET}path"},
            "ja": {"webhook": hook | {"url": f"{self.hook.url}?token={SECRET}query"}, "locale": "ja"},
            "closed": {
                "webhook": {
                    "url": f"http://127.0.0.1:1/{SECRET}closed",
                    "secret": f"{SECRET}literal",
                    "allow_private": True,
                }
            },
            "inside": {"webhook": {"url": f"http://127.0.0.1/{SECRET}inside"}},
            "shut": {"apprise": f"json://{login}@127.0.0.1:1/{SECRET}shut"},
            "chat": {"apprise": f"mmost://127.0.0.1:1/{SECRET}{'a' * 17}"},
            "nobody": {"apprise": f"nonsense://{SECRET}nothing"},
        }
        return {
            "group_wait": "0s",
            "operators": ["hook"],
            "hourly_cap": 1000,
            "channels": channels | FOLLOWING,
            "routes": [{"match": {"owner": "desk"}, "to": [*channels]}],
        }

    # --- running commands ---------------------------------------------------------------------------------------------

    def session(self, *steps: tuple[str, Sequence[str]], at: datetime | None = None, **environment: str) -> None:
        """Run commands in one process, one after the other; their streams are kept under their names."""
        plan = [
            {"name": name, "words": list(words), "at": at and at.isoformat(), "environment": environment}
            for name, words in steps
        ]
        path = self.folder / "said" / f"plan-{steps[0][0]}.json"
        path.write_text(json.dumps(plan), encoding="utf-8")
        with self.running(
            f"session-{steps[0][0]}",
            [sys.executable, "-m", "tests.privacy.session", str(path), str(self.folder / "said")],
        ) as process:
            while process.poll() is None:
                self.look_at_processes()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(1)
        assert process.returncode == 0, (self.folder / "said" / f"session-{steps[0][0]}.err").read_text()[-2000:]
        self.look_at_folders()

    @contextmanager
    def running(self, name: str, command: Sequence[str]) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a process in the block, with an umask of 0; keep its streams."""
        said = self.folder / "said"
        with (said / f"{name}.out").open("wb") as out, (said / f"{name}.err").open("wb") as err:
            process = subprocess.Popen(command, cwd=self.work, env=self.environment, umask=0, stdout=out, stderr=err)
            try:
                yield process
            finally:
                process.kill()
                process.wait(PATIENCE_S)

    def said(self, name: str) -> str:
        """Return what a command said on standard output."""
        return (self.folder / "said" / f"{name}.out").read_text(encoding="utf-8")

    def code(self, name: str) -> str:
        """Return the exit code of a command."""
        return (self.folder / "said" / f"{name}.code").read_text(encoding="utf-8")

    # --- looking ------------------------------------------------------------------------------------------------------

    def look_at_folders(self) -> None:
        """Keep what lies in the folders right now, in case it goes away or changes."""
        for path, content in self._files():
            if path.startswith(("tmp/", "home/")):
                self.seen[f"{path}#{len(self.seen)}"] = content
        self.open |= set(self.open_to_others())

    def look_at_processes(self) -> None:
        """Keep the command lines of all processes."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                self.seen[str(path)] = path.read_bytes()

    def _files(self) -> Iterator[tuple[str, bytes]]:
        for path in _below(self.folder):
            name = str(path.relative_to(self.folder))
            if name.startswith(("data/", *_USERS)) or not path.is_file():
                continue
            with suppress(OSError):
                yield name, path.read_bytes()

    def artefacts(self) -> Mapping[str, bytes]:
        """Return all that may be searched, by name."""
        found = dict(self._files()) | self.seen
        for name, receiver in (("hook", self.hook), ("door", self.door)):
            for number, request in enumerate(receiver.requests):
                headers = {key: value for key, value in request.headers.items() if key != "authorization"}
                found[f"{name} {number}"] = request.body + json.dumps(headers).encode()
        return found

    def leaks(self) -> list[str]:
        """Search everything; what is there twice is searched once."""
        once = {content: name for name, content in self.artefacts().items()}
        return [f"{name}: {line}" for content, name in once.items() for line in found_in(content, self.tokens.numbers)]

    def open_to_others(self) -> list[str]:
        """Return the files and folders that other users can access now."""
        ours = (self.folder / name for name in ("work", "home", "tmp"))
        paths = [
            path for top in ours for path in _below(top) if not str(path.relative_to(self.folder)).startswith(_USERS)
        ]
        found = []
        for path in paths:
            with suppress(FileNotFoundError):  # gone since
                mode = stat.S_IMODE(path.lstat().st_mode)
                found += [f"{path.relative_to(self.folder)}: {mode:o}"] if mode & 0o077 else []
        return found


def _below(top: Path) -> list[Path]:
    """Return all files and folders that lie in a folder, whatever goes away meanwhile."""
    return sorted(Path(folder) / name for folder, inner, files in os.walk(top) for name in (*inner, *files))


def _placed(source: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Let a source's file or glob lie in the folder of data."""
    placed = dict(source)
    if "files" in placed:
        placed["files"] = f"{data}/{placed['files']}"
    scheme, _, rest = str(placed.get("url", "")).partition(":///")
    if rest:
        placed["url"] = f"{scheme}:///{data}/{rest}"
    return placed


def _closed_doors() -> dict[str, Mapping[str, Any]]:
    """Return sources that cannot be reached, each with a secret in it."""
    login = f"reader:{SECRET}url"
    return {
        "closed": {"url": f"postgresql://{login}@127.0.0.1:1/sales"},
        "closed_by_variable": {"url": "postgresql://reader:${CANARY_PASSWORD}@127.0.0.1:1/sales"},
        "closed_by_file": {"url": "postgresql://reader:${file:password}@127.0.0.1:1/sales?sslmode=disable"},
        "closed_by_option": {"url": f"postgresql://127.0.0.1:1/sales?user=reader&password={SECRET}option"},
        "undriven": {"url": f"mysql://{login}@127.0.0.1:1/sales"},
        "unknown_engine": {"url": f"nosuchengine://{login}@127.0.0.1/sales?token={SECRET}token"},
        "no_cluster": {"spark": f"sc://127.0.0.1:1/;token={SECRET}spark"},
    }


def _behind_closed_doors() -> list[dict[str, Any]]:
    check = {"type": "not_null", "columns": ["id"]}
    return [
        {"name": f"{source}.orders", "source": source, "table": "orders", "owner": "desk", "checks": [check]}
        for source in _closed_doors()
    ]
