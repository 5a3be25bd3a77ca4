"""What no check is of: tables, columns, and checks that never ran, as the configuration and the store know them."""

from datetime import datetime

from monitor.config.project import Project
from monitor.summaries.coverage import CheckCoverage, check_coverage
from monitor.verbs.verb import Nothing
from monitor.web.views.shapes import LARGEST_PAGE
from store import ReadTransaction


def show_coverage(project: Project, tx: ReadTransaction, _: Nothing, now: datetime) -> CheckCoverage:
    """Return the tables with gaps, at most 100, the worst first; no source is opened."""
    return check_coverage(project, tx, now, names={table.name for table in project.config.tables}, most=LARGEST_PAGE)
