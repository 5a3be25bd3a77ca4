"""`tablewatch remedy`: repair a table that is at risk, and write what is proved."""

import typer

from monitor.commands import _remedy_generalise, _remedy_microaggregate

app = typer.Typer(
    help="Repair a table that is at risk, and write what is proved.",
    no_args_is_help=True,
    rich_help_panel="Disclosure",
)


@app.callback()
def _group() -> None:
    """Repair a table that is at risk, and write what is proved. The table itself is never changed."""


_remedy_microaggregate.add_to(app)
_remedy_generalise.add_to(app)
