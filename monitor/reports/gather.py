"""Gather what a weekly report is built from: one look at the store, in one transaction."""

from collections.abc import Sequence
from datetime import datetime

from incidents import Incident, to_us
from monitor.figures.coverage import lasting_gaps
from monitor.releasing.record import states_now
from monitor.reports.build import TREND_WEEKS
from monitor.reports.evidence import Evidence
from monitor.reports.week import Week
from monitor.wiring import Project
from store import ReleaseEventKind, View


def gather(project: Project, view: View, week: Week, now: datetime) -> Evidence:
    """Give what is known of a week and the eleven before it. Use it inside of the view's transaction."""
    config = project.config
    spans = view.spans(to_us(week.back(TREND_WEEKS - 1).start), to_us(week.end))
    watches = view.watches()
    kept_since = now - config.storage.keep_measurements
    earlier = [week.back(number) for number in range(1, TREND_WEEKS)]

    def look_up(ids: Sequence[int]) -> Sequence[Incident]:
        return [view.incident(one) for one in ids]

    return Evidence(
        config=config,
        as_of=now,
        spans=spans,
        maintenance=project.maintenance(spans.names),
        pricing=project.pricing if project.priced else None,
        gaps=(*view.gaps(week.start, week.end), *lasting_gaps(project.config, watches, now)),
        watches=watches,
        results=view.results_by_status(week.start, week.end) if week.start >= kept_since else None,
        look_up=look_up,
        blind_weeks=frozenset(
            one.monday for one in earlier if one.start >= kept_since and not view.saw_anything(one.start, one.end)
        ),
        releases=states_now(project, view),
        exports=view.release_events(kind=ReleaseEventKind.EXPORTED),
    )
