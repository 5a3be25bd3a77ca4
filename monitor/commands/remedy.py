"""`tablewatch remedy`: repair a table that is at risk, and write what is proved."""

import typer

from monitor.commands import (
    _remedy_code,
    _remedy_generalise,
    _remedy_lattice,
    _remedy_microaggregate,
    _remedy_randomise,
    _remedy_reconstruct,
    _remedy_suppress,
)

app = typer.Typer(
    help="Repair a table that is at risk, and write what is proved.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Repair a table that is at risk, and write what is proved. The table itself is never changed."""


_remedy_generalise.add_to(app)
_remedy_lattice.add_to(app)
_remedy_microaggregate.add_to(app)
_remedy_suppress.add_to(app)
_remedy_code.add_to(app)
_remedy_randomise.add_to(app)
_remedy_reconstruct.add_to(app)
