"""Give a comparison of the two ways to disclose as plain data, with the values of its cells."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from remedies.differential_privacy import epsilon_of

if TYPE_CHECKING:
    from checks import Json
    from remedies.differential_privacy import Comparison
    from remedies.differential_privacy._comparison import AtEpsilon
    from remedies.differential_privacy.answers._domain import Cells

EQUATION: Final = (
    "retentions solve equation 6 of Yamaguchi, Terada and Yoshiura; the rho that the paper takes is epsilon "
    "over the sum of the domain sizes, the first term of a series, and does not"
)


def comparison_json(found: "Comparison", domains: "Mapping[str, Cells]") -> "Mapping[str, Json]":
    """Give all of it; amounts of epsilon and scales are texts, since they are exact."""
    return {
        "label": found.label,
        "by": list(domains),
        "domains": {name: [one.label(cell) for cell in range(one.size)] for name, one in domains.items()},
        "records": found.rows,
        "rows_per_unit": found.rows_per_unit,
        "adjacency": "substitute",
        "delta": float(found.delta),
        "runs": found.runs,
        "note": EQUATION,
        "at": [_at(one, domains, found.shape) for one in found.at],
    }


def labels(place: Sequence[int], domains: "Mapping[str, Cells]") -> "Mapping[str, Json]":
    """Name the values of a cell."""
    return {name: one.label(at) for at, (name, one) in zip(place, domains.items(), strict=True)}


def linear_retention(epsilon: Decimal, shape: Sequence[int]) -> str:
    """Give what the paper would print as rho, to two digits."""
    return f"{float(epsilon) / sum(shape):.2g}"


def cost_of(retention: str, shape: Sequence[int]) -> float | None:
    """Give the epsilon that such a rho really costs; None where it is no probability below 1."""
    rho = Fraction(retention)
    return epsilon_of(rho, shape) if rho < 1 else None


def _at(one: "AtEpsilon", domains: "Mapping[str, Cells]", shape: Sequence[int]) -> "Json":
    linear = linear_retention(one.epsilon, shape)
    plain = _plain(asdict(one), domains)
    return {**plain, "paper": {"retention": linear, "epsilon": cost_of(linear, shape)}}


def _plain(value: Any, domains: "Mapping[str, Cells]") -> Any:
    if isinstance(value, Mapping):
        return {
            name: labels(part, domains) if name == "worst_cell" else _plain(part, domains)
            for name, part in value.items()
        }
    if isinstance(value, tuple | list):
        return [_plain(part, domains) for part in value]
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value) if isinstance(value, Fraction) else value
