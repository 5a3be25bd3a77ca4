"""Return a comparison of the two ways to disclose as plain data, with the values of its cells."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from remedies.differential_privacy import epsilon_of

if TYPE_CHECKING:
    from checks import Json
    from remedies.differential_privacy import Comparison
    from remedies.differential_privacy.answers.domain import Cells
    from remedies.differential_privacy.comparison import ComparisonAtEpsilon

EQUATION: Final = (
    "retentions solve equation 6 of Yamaguchi, Terada and Yoshiura; the rho that the paper takes is epsilon "
    "over the sum of the domain sizes, the first term of a series, and does not"
)


def comparison_json(comparison: "Comparison", domains: "Mapping[str, Cells]") -> "Mapping[str, Json]":
    """Return all of it; amounts of epsilon and scales are texts, since they are exact."""
    return {
        "label": comparison.label,
        "by": list(domains),
        "domains": {name: [domain.label(cell) for cell in range(domain.size)] for name, domain in domains.items()},
        "records": comparison.rows,
        "rows_per_unit": comparison.rows_per_unit,
        "adjacency": "substitute",
        "delta": float(comparison.delta),
        "runs": comparison.runs,
        "note": EQUATION,
        "at": [_at(item, domains, comparison.shape) for item in comparison.at],
    }


def labels(place: Sequence[int], domains: "Mapping[str, Cells]") -> "Mapping[str, Json]":
    """Name the values of a cell."""
    return {name: domain.label(at) for at, (name, domain) in zip(place, domains.items(), strict=True)}


def linear_retention(epsilon: Decimal, shape: Sequence[int]) -> str:
    """Return what the paper would print as rho, to two digits."""
    return f"{float(epsilon) / sum(shape):.2g}"


def cost_of(retention: str, shape: Sequence[int]) -> float | None:
    """Return the epsilon that such a rho really costs; None where it is not a probability below 1."""
    rho = Fraction(retention)
    return epsilon_of(rho, shape) if rho < 1 else None


def _at(at_epsilon: "ComparisonAtEpsilon", domains: "Mapping[str, Cells]", shape: Sequence[int]) -> "Json":
    linear = linear_retention(at_epsilon.epsilon, shape)
    plain = _plain(asdict(at_epsilon), domains)
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
