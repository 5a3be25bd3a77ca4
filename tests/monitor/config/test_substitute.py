"""Filling in `${...}`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from monitor.config._substitute import Substitution
from monitor.config.yaml_nodes import Node, find_node, plain_data, read_yaml

NOTHING: Mapping[str, str] = {}


def _fill(
    text: str, environment: Mapping[str, str] = NOTHING, *, folder: Path | None = None
) -> tuple[Node, Substitution]:
    tree, _ = read_yaml(text, "t.yaml")
    substitution = Substitution(environment)
    substitution.fill(tree, folder or Path())
    return tree, substitution


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: ${X}", "blue"),
        ("a: pre-${X}-post", "pre-blue-post"),
        ("a: '${X}'", "blue"),
        ("a: ${NONE:-red}", "red"),
        ("a: ${EMPTY:-red}", "red"),
        ("a: ${EMPTY}", ""),
        ("a: ${X:-red}", "blue"),
        ("a: ${NONE:-}", ""),
        ("a: ${NONE:-sqlite:///a.db}", "sqlite:///a.db"),
        ("a: ${PORT}", 5432),
        ("a: '${PORT}'", "5432"),
        ("a: x${PORT}", "x5432"),
        ("a: ${NONE:-true}", True),
        ("a: ${ZIP}", "0123"),
        ("a: $$", "$"),
        ("a: $${X}", "${X}"),
        ("a: cost $5", "cost $5"),
        ("a: '^[^@]+$'", "^[^@]+$"),
        ("a: ${INNER}", "${X}"),
        ("a: ${YAML}", "{b: 1}\nc: 2"),
    ],
)
def test_what_is_filled_in(text: str, value: object) -> None:
    """A substitution gives its text once; only when it is all of a plain scalar may it become a number or a boolean."""
    environment = {"X": "blue", "EMPTY": "", "PORT": "5432", "ZIP": "0123", "INNER": "${X}", "YAML": "{b: 1}\nc: 2"}
    tree, substitution = _fill(text, environment)
    assert substitution.problems == []
    assert plain_data(tree) == {"a": value}


def test_here_is_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is absolute, so that the place where a command is started does not matter, and it is no secret."""
    monkeypatch.chdir(tmp_path)
    tree, substitution = _fill("a: 'sqlite:///${here}/x.db'", {"here": "elsewhere"}, folder=Path("conf"))
    assert plain_data(tree) == {"a": f"sqlite:///{tmp_path}/conf/x.db"}
    assert substitution.secrets == set()


ODD = "a [b] 100% #1 ? *é"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("url: 'duckdb:///${here}/${here}'", "duckdb:///{url}/{url}"),
        ("url: 'postgresql://h/db?sslrootcert=${here}/ca.pem'", "postgresql://h/db?sslrootcert={url}/ca.pem"),
        ("files: '${here}/*.csv'", "{glob}/*.csv"),
        ("why: 'files://${here}, ${here}'", "files://{url}, {url}"),
        ("why: 'in ${here}'", "in {plain}"),
    ],
)
def test_the_name_of_a_folder_means_itself(tmp_path: Path, text: str, value: str) -> None:
    """What a URL or a glob would read as a mark of its own is encoded there, and nowhere else."""
    folder = tmp_path / ODD
    tree, _ = _fill(text, folder=folder)
    url = f"{tmp_path}/a%20%5Bb%5D%20100%25%20%231%20%3F%20%2Aé"
    [filled] = plain_data(tree).values()
    assert filled == value.format(url=url, glob=f"{tmp_path}/a [[]b] 100% #1 [?] [*]é", plain=folder)


def test_keys_and_comments_are_left_alone() -> None:
    """Only values are filled in."""
    tree, substitution = _fill("${X}: 1 # ${Y}")
    assert plain_data(tree) == {"${X}": 1}
    assert substitution.problems == []


def test_a_missing_variable_says_how_to_give_a_default() -> None:
    """A variable that is not set is a problem at the value's place, with a way out and the near name."""
    _, substitution = _fill("a: 1\nb: x ${WAREHOUSE_ULR}", {"WAREHOUSE_URL": "x"})
    (problem,) = substitution.problems
    assert (problem.code, problem.line, problem.column) == ("config.missing_variable", 2, 4)
    assert problem.message == "environment variable WAREHOUSE_ULR is not set"
    assert problem.hint is not None
    assert "${WAREHOUSE_ULR:-default}" in problem.hint
    assert "did you mean 'WAREHOUSE_URL'?" in problem.hint


@pytest.mark.parametrize("text", ["${}", "${a b}", "${X", "${X:-${Y}}", "${X-1}"])
def test_a_malformed_substitution_is_a_problem(text: str) -> None:
    """What begins like a substitution and is none is never taken literally in silence."""
    _, substitution = _fill(f"a: '{text}'", {"X": "1"})
    assert [problem.code for problem in substitution.problems] == ["config.substitution"]


def test_a_file_is_read_relative_to_the_configuration(tmp_path: Path) -> None:
    """`${file:...}` gives the content without the last line break."""
    (tmp_path / "secret.txt").write_text("s3cret\n", encoding="utf-8")
    tree, substitution = _fill("a: pre ${file:secret.txt}", folder=tmp_path)
    assert plain_data(tree) == {"a": "pre s3cret"}
    assert substitution.secrets == {"s3cret"}


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    """A missing file, a folder, other bytes than text, and a large file each say what is wrong."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large").write_text("x" * 70_000, encoding="utf-8")
    text = "a: '${file:none}'\nb: '${file:.}'\nc: '${file:bytes}'\nd: '${file:large}'"
    _, substitution = _fill(text, folder=tmp_path)
    said = [problem.message for problem in substitution.problems]
    assert said == [
        "file 'none' does not exist",
        "file '.' is a folder",
        "file 'bytes' is not UTF-8 text",
        "file 'large' is longer than 65,536 characters",
    ]


def test_only_what_came_from_outside_is_secret() -> None:
    """Values of the environment are remembered and masked at their place; defaults stand in the file anyway."""
    tree, substitution = _fill("a: postgresql://u:${PW}@h/${DB:-shop}", {"PW": "hunter2"})
    assert substitution.secrets == {"hunter2"}
    assert find_node(tree, ["a"])[0].masked == "postgresql://u:***@h/shop"


def test_an_aliased_value_is_filled_in_once() -> None:
    """A dollar that was escaped stays escaped where an alias repeats it."""
    tree, _ = _fill("a: &x ['$$$$']\nb: *x")
    assert plain_data(tree) == {"a": ["$$"], "b": ["$$"]}
