"""A MariaDB server for tests: the one that TABLEWATCH_TEST_MYSQL names, else a throwaway one on loopback.

`python -m tests._mysql COMMAND...` runs a command with such a server and ends with its exit code.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests._postgres import PASSWORD, free_port, unprivileged

VARIABLE = "TABLEWATCH_TEST_MYSQL"
_START = f"""\
CREATE USER tablewatch@127.0.0.1 IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO tablewatch@127.0.0.1 WITH GRANT OPTION;
CREATE DATABASE tablewatch CHARACTER SET utf8mb4;
"""
_SAFE = ("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--skip-name-resolve", "--skip-log-bin")


@pytest.fixture(scope="session")
def mysql_url() -> Iterator[str]:
    """Yield the URL of a database of its own on a server whose user may create others."""
    given = os.environ.get(VARIABLE)
    with nullcontext(given) if given else _server() as url:
        yield url


@contextmanager
def _server() -> Iterator[str]:
    folder = Path(mkdtemp(prefix="tablewatch-mariadb-"))
    account = unprivileged("mysql")
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    data, port = folder / "data", free_port()
    (folder / "start.sql").write_text(_START)
    who = [] if account is None else [f"--user={account.pw_name}"]
    login = ["--user=tablewatch", f"--password={PASSWORD}", "--host=127.0.0.1", f"--port={port}"]
    program, server = shutil.which("mariadbd") or "mariadbd", None
    try:
        _run(["mariadb-install-db", "--no-defaults", "--skip-test-db", f"--datadir={data}", *who])
        options = [f"--datadir={data}", f"--socket={folder / 'socket'}", f"--port={port}", "--bind-address=127.0.0.1"]
        options += [f"--init-file={folder / 'start.sql'}", f"--log-error={folder / 'log'}", *_SAFE, *who]
        server = subprocess.Popen([program, "--no-defaults", *options], stdin=subprocess.DEVNULL)
        _run(["mariadb-admin", "--no-defaults", "--silent", "--wait=120", *login, "ping"])
        yield f"mysql://tablewatch:{PASSWORD}@127.0.0.1:{port}/tablewatch"
    finally:
        if server is not None:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def main() -> None:
    """Run a command with a throwaway server that TABLEWATCH_TEST_MYSQL names."""
    if shutil.which("mariadbd") is None:
        sys.exit("no MariaDB server programs; install Debian's package mariadb-server")
    with _server() as url:
        sys.exit(subprocess.call(sys.argv[1:], env={**os.environ, VARIABLE: url}))


if __name__ == "__main__":
    main()
