"""A PostgreSQL server for tests: the one that TABLEWATCH_TEST_POSTGRES names, else a throwaway one on loopback.

`python -m tests._postgres COMMAND...` runs a command with such a server and ends with its exit code.
"""

import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType

import pytest

from tests.needs import postgresql_programs

PASSWORD = "throwaway"  # noqa: S105 - of a server that lives for one test session and listens on loopback only
_SAFE = "fsync=off\nsynchronous_commit=off\nfull_page_writes=off\nlisten_addresses='127.0.0.1'\nmax_connections=40\n"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Yield the URL of a server whose user may create schemas and roles."""
    given = os.environ.get("TABLEWATCH_TEST_POSTGRES")
    if given:
        with _own_database(given) as url:
            yield url
        return
    programs = postgresql_programs()
    assert programs is not None  # tests.needs has skipped
    with _server(programs) as url:
        yield url


@contextmanager
def _own_database(server: str) -> Iterator[str]:
    """Yield a database of a server to this process alone: others run tests on tables of the same names."""
    import psycopg

    name = f"tablewatch_tests_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    try:
        yield f"{server.rpartition('/')[0]}/{name}"
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def _server(programs: Path) -> Iterator[str]:
    with late_server(programs) as (url, start):
        start()
        yield url


@contextmanager
def late_server(
    programs: Path | None = None, *, files: Mapping[str, bytes] = MappingProxyType({}), more: str = ""
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the URL of a server that does not run yet, and the function that starts it; it is gone afterwards.

    `files` lie in its folder of data, which only it may read; `more`: lines of its configuration.
    """
    programs = programs or postgresql_programs()
    assert programs is not None  # tests.needs has skipped
    folder = Path(mkdtemp(prefix="tablewatch-postgres-"))
    account = unprivileged("postgres")
    try:
        (folder / "password").write_text(PASSWORD)
        if account is not None:
            for path in (folder, folder / "password"):
                os.chown(path, account.pw_uid, account.pw_gid)
        data = folder / "data"
        login = ["--username=tablewatch", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}"]
        _run(account, programs / "initdb", "--no-sync", "--encoding=UTF8", "--locale=C", *login, str(data))
        port = free_port()
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(f"{_SAFE}port={port}\nunix_socket_directories='{folder}'\n{more}")
        for name, content in files.items():
            (data / name).touch(mode=0o600)
            (data / name).write_bytes(content)
            if account is not None:
                os.chown(data / name, account.pw_uid, account.pw_gid)
        control = (programs / "pg_ctl", "--pgdata", data, "--silent", "--wait")

        def start() -> None:
            _run(account, *control, f"--log={folder / 'log'}", "start")

        try:
            yield f"postgresql://tablewatch:{PASSWORD}@127.0.0.1:{port}/postgres", start
        finally:
            if (data / "postmaster.pid").exists():
                _run(account, *control, "--mode=immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged(name: str) -> pwd.struct_passwd | None:
    """Return an account for a server, which refuses to run as root; None keeps ours."""
    if os.geteuid() != 0:
        return None
    known = {account.pw_name: account for account in pwd.getpwall()}
    return known.get(name) or known["nobody"]


def _run(account: pwd.struct_passwd | None, *command: str | Path) -> None:
    subprocess.run(
        command,
        cwd="/",
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        user=account and account.pw_uid,
        group=account and account.pw_gid,
        extra_groups=account and [],
    )


def free_port() -> int:
    """Return an unused port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Run a command with a throwaway server that TABLEWATCH_TEST_POSTGRES names."""
    programs = postgresql_programs()
    if programs is None:
        sys.exit("no PostgreSQL server programs; install Debian's package postgresql")
    with _server(programs) as url:
        sys.exit(subprocess.call(sys.argv[1:], env={**os.environ, "TABLEWATCH_TEST_POSTGRES": url}))


if __name__ == "__main__":
    main()
