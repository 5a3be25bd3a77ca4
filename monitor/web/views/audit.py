"""How often statements came true, in all history that is kept."""

from datetime import datetime

from monitor.config.project import Project
from monitor.summaries.audit import PromiseAudit, audit_promises
from monitor.verbs.verb import Nothing
from store import ReadTransaction


def show_audit(project: Project, tx: ReadTransaction, _: Nothing, now: datetime) -> PromiseAudit:
    """Return the audit of all that is kept; no source is opened."""
    return audit_promises(project, tx, now)
