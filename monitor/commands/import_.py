"""`tablewatch import`: read results, incidents and checks of other tools.

Each kind stands in a file of its own, `_import_<kind>`.
"""

import typer

from monitor.commands._import_contract import import_contract
from monitor.commands._import_gx import import_gx
from monitor.commands._import_incidents import import_incidents
from monitor.commands._import_openlineage import import_openlineage
from monitor.commands._import_results import import_dbt, import_results

app = typer.Typer(help="Import from other tools.", no_args_is_help=True, rich_help_panel="Set up")


@app.callback()
def _group() -> None:
    """Import from other tools."""


app.command("contract")(import_contract)
app.command("dbt")(import_dbt)
app.command("gx")(import_gx)
app.command("incidents")(import_incidents)
app.command("openlineage")(import_openlineage)
app.command("results")(import_results)
