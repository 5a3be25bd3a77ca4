"""`tablewatch alert`: see who is told what, and try channels out. See `_alert_deciding` and `_alert_sending`."""

import typer

from monitor.commands import _alert_deciding, _alert_sending

app = typer.Typer(help="See who is told what, and try channels out.", no_args_is_help=True, rich_help_panel="Watch")


@app.callback()
def _group() -> None:
    """See who is told what, and try channels out."""


_alert_deciding.add_decision_commands(app)
_alert_sending.add_delivery_commands(app)
