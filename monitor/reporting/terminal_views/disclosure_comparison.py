"""Print the error of a randomised table beside that of noisy answers at the same epsilon."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from monitor.releases.disclosure.comparison import cost_of, labels, linear_retention
from monitor.terminal.output import count
from monitor.terminal.redaction import visible
from monitor.terminal.tables import draw_table

if TYPE_CHECKING:
    from remedies.differential_privacy import Comparison
    from remedies.differential_privacy.answers.domain import Cells
    from remedies.differential_privacy.comparison import BatchRelease, ComparisonAtEpsilon
    from remedies.differential_privacy.expected_error import Error

_WAYS: Final = {"as_is": "unchanged", "inverse": "inverted", "projected": "inverted, >= 0*", "bayes": "by Bayes*"}


def draw_comparison(console: Console, comparison: "Comparison", domains: "Mapping[str, Cells]") -> None:
    """Print tables 2, 5 and 6 of the paper, corrected, for these counts."""
    sizes = " x ".join(f"{visible(name)} {domain.size:,}" for name, domain in domains.items())
    total = math.prod(comparison.shape)
    cells = (
        f"{count(comparison.rows, 'record')} in {total:,} cells ({sizes}); {count(comparison.runs, 'simulated table')}"
    )
    console.print(Text(comparison.label, "yellow"))
    console.print(Text(cells))
    _draw_retentions(console, comparison)
    for item in comparison.at:
        _draw_errors(console, item, domains)
    _draw_answers(console, comparison)
    _draw_crossovers(console, comparison)


def _draw_retentions(console: Console, comparison: "Comparison") -> None:
    console.print()
    console.print(Text("Retention and noise at the same epsilon (table 2, corrected)", "bold"))
    total = f"epsilon / {sum(comparison.shape):,}"
    linear = [linear_retention(item.epsilon, comparison.shape) for item in comparison.at]
    draw_table(
        console,
        (">epsilon", ">retention", f">{total}", ">Pk", ">scale of noise", ">joint retention"),
        [
            (
                f"{item.epsilon:f}",
                f"{item.attribute_wise.retention:.10f}",
                rho,
                f"{item.pk:.4f}",
                f"{float(item.interactive[0].scale / item.interactive[0].answers):g}",
                None if item.joint is None else f"{item.joint.retention:.10f}",
            )
            for item, rho in zip(comparison.at, linear, strict=True)
        ],
    )
    console.print(Text("Pk is the k of Pk-anonymity, not the size of an equivalence class.", "dim"))
    console.print(Text(_paper(comparison), "dim"))


def _paper(comparison: "Comparison") -> str:
    """Describe which equation is followed where the paper prints something else."""
    epsilon = comparison.at[-1].epsilon
    rho = linear_retention(epsilon, comparison.shape)
    cost = cost_of(rho, comparison.shape)
    really = "is not a probability" if cost is None else f"really costs {cost:.4g}"
    total = f"epsilon / {sum(comparison.shape):,}"
    printed = f"The paper uses {total}, which does not: {rho} for {epsilon:f} {really}."
    return f"Retentions solve equation 6. {printed}"


def _draw_errors(console: Console, at_epsilon: "ComparisonAtEpsilon", domains: "Mapping[str, Cells]") -> None:
    console.print()
    title = f"Randomised table, epsilon {at_epsilon.epsilon:f}: errors of its counts (table 5, corrected)"
    console.print(Text(title, "bold"))
    rows = [_error(way, error, domains) for way, error in _errors(at_epsilon)]
    draw_table(console, ("batch", ">RMS L2", ">bias L2", ">Spearman", ">quartiles of cells", "~worst cell"), rows)


def _errors(at_epsilon: "ComparisonAtEpsilon") -> "Iterator[tuple[str, Error]]":
    batches: Sequence[tuple[str, BatchRelease | None]] = (
        ("", at_epsilon.attribute_wise),
        ("joint, ", at_epsilon.joint),
    )
    for before, batch in batches:
        for name, way in _WAYS.items():
            error = None if batch is None else getattr(batch, name)
            if error is not None:
                yield f"{before}{way}", error


def _error(way: str, error: "Error", domains: "Mapping[str, Cells]") -> Sequence[str | None]:
    where = ", ".join(visible(str(label)) for label in labels(error.worst_cell, domains).values())
    return (
        way,
        f"{error.rms_l2:.3f}",
        f"{error.bias_l2:.3f}",
        _rank(error.spearman),
        " / ".join(map(_short, error.quartiles)),
        f"{_short(error.worst)} in {where}",
    )


def _draw_answers(console: Console, comparison: "Comparison") -> None:
    console.print()
    console.print(Text("Noisy answers that share an epsilon: errors of the counts of one (table 5)", "bold"))
    delta = f"zCDP, {float(comparison.delta):g}"
    draw_table(
        console,
        (">epsilon", ">answers", ">scale", ">RMS L2", ">continuous", ">each cell", f">{delta}", ">Spearman"),
        [
            (
                f"{item.epsilon:f}",
                f"{answer.answers:,}",
                f"{float(answer.scale):g}",
                f"{answer.rms_l2:.6f}",
                f"{answer.continuous:.6f}",
                _short(answer.cell),
                None if answer.zcdp is None else f"{answer.zcdp:.3f}",
                _rank(answer.spearman),
            )
            for item in comparison.at
            for answer in item.interactive
        ],
    )
    console.print(Text("Noise of answers is discrete; the paper computes with continuous noise.", "dim"))


def _draw_crossovers(console: Console, comparison: "Comparison") -> None:
    console.print()
    title = "Number of answers from which the batch is more accurate: basic / zCDP (table 6, corrected)"
    console.print(Text(title, "bold"))
    draw_table(
        console,
        ("batch", *(f">epsilon {item.epsilon:f}" for item in comparison.at)),
        [(_way(name), *(_crossover(item, name) for item in comparison.at)) for name in comparison.at[0].crossovers],
    )
    text = "A batch is charged once, however often it is queried. Under zCDP (Gaussian noise) epsilon holds"
    but = f"except with probability {float(comparison.delta):g}, a weaker guarantee. * simulated: runs differ."
    console.print(Text(f"{text}\n{but}", "dim"))


def _way(name: str) -> str:
    joint, way = ("joint, ", name.removeprefix("joint-")) if name.startswith("joint-") else ("", name)
    return f"{joint}{_WAYS[way.replace('-', '_')]}"


def _crossover(at_epsilon: "ComparisonAtEpsilon", name: str) -> str:
    crossover = at_epsilon.crossovers[name]
    return f"{crossover.basic} / {'-' if crossover.zcdp is None else crossover.zcdp}"


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 1000 else f"{number:.1f}"


def _rank(spearman: float | None) -> str | None:
    return None if spearman is None else f"{spearman:.3f}"
