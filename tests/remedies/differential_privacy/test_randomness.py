"""Where noise comes from, looked at in the source: the operating system alone, exact, and never to be seeded."""

import ast
import inspect
from pathlib import Path

import pytest

import remedies.differential_privacy as package

PACKAGE = Path(package.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
SAMPLERS = [PACKAGE / f"{name}.py" for name in ("random_bytes", "_samplers")]
"""What every draw goes through. Nothing in them is a float."""

SEEDS = {"seed", "rng", "generator", "random_state", "source", "randomness", "entropy"}


def _name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def _imported(tree: ast.Module) -> set[str]:
    """Return every module and name that is imported, and every attribute that is read, dotted as it is written."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return found


def _faults(source: str) -> set[str]:
    """Return what is banned of a file: other randomness than the one door's, and ways to seed it."""
    tree = ast.parse(source)
    names = _imported(tree)
    banned = {
        name
        for name in names
        if name.split(".")[0] in {"random", "secrets", "opendp"}
        or name.startswith(("numpy.random", "np.random", "scipy.stats", "pandas.util"))
        or name.endswith((".sample", ".rvs", "default_rng", "RandomState", "urandom", ".getrandom"))
    }
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} & SEEDS
    return banned | arguments


def test_noise_comes_from_the_one_door():
    """No `random`, no `numpy.random`, no seed: only `_bytes` asks the operating system, in one place."""
    faults = {_name(path): _faults(path.read_text(encoding="utf-8")) for path in FILES}
    assert {name: found for name, found in faults.items() if found} == {"random_bytes.py": {"os.urandom"}}


@pytest.mark.parametrize(
    "bad",
    [
        *("import random", "from random import randint", "import secrets", "import os\nos.urandom(8)"),
        *("from os import urandom", "import numpy.random", "from numpy import random", "import scipy.stats"),
        *("from numpy.random import default_rng", "import numpy as np\nnp.random.laplace(0, 1)", "frame.sample(3)"),
        *("def draw(*, seed=None): ...", "def draw(rng): ...", "import opendp.prelude as dp"),
    ],
)
def test_the_test_above_sees_what_it_is_for(bad: str):
    """Each of these would be found."""
    assert _faults(bad)


def _floats(source: str) -> list[str]:
    """Return what is, makes or may make a float: literals, true division, float types, the mathematics of floats."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            found.append(repr(node.value))
        elif isinstance(node, ast.Name) and node.id in {"float", "round", "pow"}:
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and (
            "float" in node.attr
            or (ast.unparse(node.value) == "math" and node.attr not in {"isqrt", "gcd", "floor", "ceil"})
            or (
                ast.unparse(node.value) == "np" and node.attr in {"log", "log1p", "exp", "expm1", "sqrt", "true_divide"}
            )
        ):
            found.append(ast.unparse(node))
    return found


def test_no_sampler_holds_a_float():
    """Float noise tells true values apart; integers and fractions do not."""
    assert [found for path in SAMPLERS for found in _floats(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "bad", ["x = 0.5", "float(3)", "math.log(2)", "np.float64(1)", "np.log1p(u)", "x.astype('f')+1e-3"]
)
def test_the_test_for_floats_sees_what_it_is_for(bad: str):
    """Each of these would be found."""
    assert _floats(bad)


@pytest.mark.parametrize("path", SAMPLERS, ids=_name)
def test_samplers_divide_fractions_only(path: Path):
    """True division stands only where a side is a Fraction by its type, in the two places that are known."""
    divisions = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    ]
    known = {
        "_samplers.py": [
            "Fraction(l2_squared) * NANO / (2 * nano_rho)",
            "square / scale",
            "distance ** 2 / (2 * square)",
        ]
    }
    assert sorted(divisions) == sorted(known.get(path.name, []))


def test_nothing_public_can_be_seeded():
    """No function, class or method that is given out takes a seed, a generator or a source of bytes."""
    public = {name: getattr(package, name) for name in package.__all__}
    for value in [*public.pop("oracles").values(), *public.values()]:
        members = [member for at, member in inspect.getmembers(value) if not at.startswith("_") or at == "__init__"]
        for member in (value, *members):
            if inspect.isfunction(member) or inspect.ismethod(member):
                assert not SEEDS & set(inspect.signature(member).parameters), member
