"""`tablewatch remedy`: treat a table at risk and write the result."""

import typer

from monitor.commands import _remedy_generalise, _remedy_microaggregate, _remedy_randomise

app = typer.Typer(
    help="Anonymise a table: the output is verified and kept only if it meets the limits.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Anonymise a table: the output is verified and kept only if it meets the limits.

    The table itself is never changed. Rows are written in random order.
    """


_remedy_generalise.add_generalise(app)
_remedy_generalise.add_lattice(app)
_remedy_microaggregate.add_microaggregate(app)
_remedy_generalise.add_suppress(app)
_remedy_microaggregate.add_code(app)
_remedy_randomise.add_randomise(app)
_remedy_randomise.add_reconstruct(app)
