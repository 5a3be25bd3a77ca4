"""What commands write: never over the store, the configuration or a source, and nothing but what was asked for."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.monitor.commands.terminal import Terminal

_OTHERS = """
  lake: {files: "lake/*.csv"}
  warehouse: {url: "duckdb:///warehouse.duckdb"}
"""
PAGES: Sequence[Sequence[str]] = (
    ("report", "--format", "html", "--out"),
    ("report", "--format", "json", "--out"),
    ("config", "schema", "--write"),
    ("export", "gx", "--table", "orders", "--out"),
)
"""Commands that write to the file whose name follows; those with an ending of their own are below."""
FILES = (
    "store.db",
    "store.db-wal",
    "store.db-shm",
    "store.db.lock",
    "store.db.key",
    "store.db.ledger",
    "tablewatch.yaml",
    "secret",
    "shop.sqlite",
    "shop.sqlite-journal",
    "lake/a.csv",
    "lake/new.csv",
    "warehouse.duckdb",
    "warehouse.duckdb.wal",
    "tablewatch.yml",
)


@pytest.fixture
def busy(terminal: Terminal) -> Terminal:
    """Return a folder with a store, a key, a secret in a file, and sources of every kind."""
    source = 'sources: {shop: {url: "sqlite:///shop.sqlite", timezone: UTC}}'
    block = 'sources:\n  shop: {url: "sqlite:///shop.sqlite", timezone: UTC}' + _OTHERS.rstrip()
    terminal.configure(**{source: block, "{name: The desk}": '{name: "${file:secret}"}'})
    Path("secret").write_text("The desk")
    Path("lake").mkdir()
    Path("lake/a.csv").write_text("id\n1\n")
    assert terminal("check", "orders").code == 0
    return terminal


def _state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))  # reading the store makes them again
    }


@pytest.mark.parametrize("name", FILES)
def test_what_tablewatch_reads_is_never_an_output(busy: Terminal, name: str) -> None:
    """Whatever the command, with --force, by its name, through a symbolic link and by a hard link."""
    names = [name]
    if Path(name).exists():
        Path("soft.out").symlink_to(name)
        Path("hard.out").hardlink_to(name)
        names += ["soft.out", "hard.out"]
    before = _state(busy.folder)
    for words in PAGES:
        for out in names:
            if words[0] == "report" and Path(out).suffix:
                continue  # refused already for its ending
            said = busy(*words, out, "--force")
            assert said.code == 2, (words, out, said.out, said.err)
            assert f"'{out}'" in said.err + said.out
    assert _state(busy.folder) == before


@pytest.mark.parametrize("name", ["store.db", "tablewatch.yaml", "secret", "shop.sqlite", "lake/a.csv"])
def test_a_report_with_a_link_to_it_is_refused_too(busy: Terminal, name: str) -> None:
    """The ending of the link fits; what it leads to does not."""
    Path("soft.html").symlink_to(name)
    Path("hard.html").hardlink_to(name)
    before = _state(busy.folder)
    for out in ("soft.html", "hard.html"):
        assert busy("report", "--out", out, "--force").code == 2
    assert _state(busy.folder) == before


def test_files_of_a_configuration_folder_are_never_outputs(busy: Terminal) -> None:
    """Nor is a new file that would become a part of it."""
    Path("conf").mkdir()
    Path("tablewatch.yaml").rename("conf/a.yaml")
    Path("conf/a.yaml").write_text(
        Path("conf/a.yaml").read_text().replace("${file:secret}", "x").replace("lake/*.csv", "../lake/*.csv")
    )
    before = _state(busy.folder)
    for out in ("conf/a.yaml", "conf/b.yml", "conf/deep/c.yaml", "tablewatch.yaml"):
        assert "a file of the configuration" in busy("-c", "conf", "config", "schema", "--write", out, "--force").err
    assert _state(busy.folder) == before


def test_a_broken_configuration_is_protected_too(busy: Terminal) -> None:
    """A command that needs none does not take it, or the store, for a file to replace."""
    Path("tablewatch.yaml").write_text("version: [")
    for out in ("tablewatch.yaml", "store.db", "store.db.lock"):
        assert busy("config", "schema", "--write", out, "--force").code == 2
        words = ("privacy", "local", "perturb", "yes", "--domain", "yes,no", "--epsilon", "1")
        assert busy(*words, "--out", out, "--force").code == 2


def test_what_exists_is_replaced_with_force_only(busy: Terminal) -> None:
    """By every command that writes a page, a schema or a suite."""
    for number, words in enumerate(PAGES):
        out = f"out{number}.json" if "html" not in words else "out.html"
        Path(out).write_text("previous")
        said = busy(*words, out)
        assert (said.code, Path(out).read_text()) == (2, "previous")
        assert "--force replaces it" in said.err + said.out
        assert busy(*words, out, "--force").code == 0
        assert Path(out).read_text() != "previous"


def test_devices_and_pipes_are_answered(busy: Terminal) -> None:
    """Neither is waited for, and neither is replaced."""
    os.mkfifo("pipe")
    for words in PAGES:
        for out, kind in (("pipe", "a named pipe"), ("/dev/null", "a device"), ("/dev/full", "a device")):
            said = busy(*words, out, "--force")
            assert (said.code, kind in said.err + said.out) == (2, True)


def test_what_local_perturb_reads_is_not_its_output(busy: Terminal) -> None:
    """The file of values, and that of the domain, stay."""
    Path("values.jsonl").write_text("yes\nno\n")
    Path("domain.csv").write_text("yes\nno\n")
    words = ("privacy", "local", "perturb", "--values", "values.jsonl", "--domain-file", "domain.csv", "--epsilon", "1")
    for out in ("values.jsonl", "domain.csv"):
        said = busy(*words, "--out", out, "--force")
        assert (said.code, Path(out).read_text()) == (2, "yes\nno\n")
        assert "an input file of this command" in said.err


def test_remedies_do_not_write_where_a_source_reads(busy: Terminal) -> None:
    """Neither over its files, nor beside them; and not over hierarchies that were named."""
    Path("people.csv").write_text("age\n" + "\n".join(str(20 + n % 3) for n in range(30)) + "\n")
    Path("h").mkdir()
    Path("h/age.csv").write_text("20;20-29\n21;20-29\n22;20-29\n")
    for out in ("lake/a.csv", "lake/new.csv", "h/age.csv", "h/new.csv", "people.csv"):
        words = ("privacy", "remedy", "generalise", "people.csv", out, "-q", "age", "--hierarchies", "h", "--force")
        before = _state(busy.folder)
        assert busy(*words).code == 2, out
        assert _state(busy.folder) == before


def test_demo_replaces_nothing_but_a_demo(busy: Terminal) -> None:
    """A folder with something else in it stays, also with --force, and so does what a link leads to."""
    before = _state(busy.folder)
    assert busy("demo", "--dir", ".", "--force").code == 2
    Path("other").mkdir()
    for name in ("shop.sqlite", "tablewatch.yaml", "thesis.txt"):
        (Path("other") / name).write_text("project: demo-shop\n")
    said = busy("demo", "--dir", "other", "--force")
    assert (said.code, "thesis.txt" in said.err) == (2, True)
    Path("link").symlink_to("other")
    assert busy("demo", "--dir", "link", "--force").code == 2
    after = {name: content for name, content in _state(busy.folder).items() if not name.startswith(("other", "link"))}
    assert after == before


_UNSHARE = shutil.which("unshare") or ""
_ON_A_FULL_DISK = """\
set -eu
mount -t tmpfs -o size=300k none "$1"
cd "$1"
cp ../tablewatch.yaml ../shop.sqlite .
for name in report.html schema.json suite.json; do echo previous > $name; done
dd if=/dev/zero of=fill bs=1k count=400 2> /dev/null || true
run() { code=0; "$2" -m monitor "${@:3}" 2>&1 || code=$?; echo "LEFT $code"; }
run - "$2" report --out report.html --force
run - "$2" config schema --write schema.json --force
run - "$2" export gx --table orders --out suite.json --force
run - "$2" backup copy.db
run - "$2" demo --dir demo
cat report.html schema.json suite.json
ls -A | sort | tr '\\n' ' '
"""


def test_on_a_full_disk_the_previous_file_stays(busy: Terminal) -> None:
    """Every writer says so, and names the file that was asked for; none leaves a draft or takes it for a bug."""
    Path("full").mkdir()
    text = Path("tablewatch.yaml").read_text().replace("sqlite:///store.db", f"sqlite:///{busy.folder}/store.db")
    Path("tablewatch.yaml").write_text(text.replace("${file:secret}", "x"))
    if not _UNSHARE or subprocess.run([_UNSHARE, "-rm", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this system does not allow mounting a small disk")
    script = [_UNSHARE, "-rm", "bash", "-c", _ON_A_FULL_DISK, "-", str(busy.folder / "full"), sys.executable]
    done = subprocess.run(script, check=False, capture_output=True, text=True)
    said = done.stdout
    for name in ("report.html", "schema.json", "suite.json"):
        assert f"'{name}' cannot be written: the disk is full" in said, said + done.stderr
    assert "copy.db cannot be written: the disk is full" in said
    assert "the demo in demo cannot be built: the disk is full" in said
    assert "LEFT 70" not in said
    assert said.count("previous") == 3
    assert ".tablewatch" not in said
