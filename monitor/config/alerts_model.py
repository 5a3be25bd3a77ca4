"""The shape of `alerts` and `incidents`: when an incident opens and closes, who hears of it, and what may cause it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field, create_model, model_validator

from checks import ConfirmRule, Kind, Severity
from monitor.channels import KINDS, ChannelKind
from monitor.config.scalars import BudgetOfDowntime, Clock, Duration, PositiveDuration, Section, Weekdays, Zone

OTHER: Final = "other"
"""The cause that can always be given."""


class _ChannelOfAKind(Section):
    """An alert channel: settings of exactly one kind, under the kind's name."""

    if TYPE_CHECKING:
        locale: Literal["en", "ja"] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(getattr(self, name) is not None for name in KINDS) != 1:
            raise ValueError(f"a channel has exactly one of {', '.join(KINDS)}")
        return self

    @property
    def kind(self) -> ChannelKind:
        """Return what kind of channel it is."""
        return next(kind for name, kind in KINDS.items() if getattr(self, name) is not None)

    @property
    def settings(self) -> Any:
        """Return the settings of its kind."""
        return getattr(self, self.kind.name)


if TYPE_CHECKING:
    Channel = _ChannelOfAKind
else:
    Channel = create_model(
        "Channel",
        __base__=_ChannelOfAKind,
        __module__=__name__,
        __doc__=f"Where alerts go: exactly one of {', '.join(f'`{name}`' for name in KINDS)}.",
        **{name: (kind.settings | None, Field(None, description=kind.description)) for name, kind in KINDS.items()},
        locale=(Literal["en", "ja"] | None, None),
    )


class Match(Section):
    """The incidents that a route matches; every given key must match."""

    table: str | None = Field(None, description="One of `tables`.")
    domain: str | None = Field(None, description="One of `domains`.")
    owner: str | None = Field(None, description="One of `owners`.")
    tier: str | None = Field(None, description="The tier of the table.")
    source: str | None = Field(None, description="One of `sources`.")
    product: str | None = Field(None, description="One of `products`, of which the table is a part.")
    severity: Severity | None = Field(None, description="Minimum severity.")
    kind: Kind | None = Field(None, description="Kind of incident.")
    outcome: Literal["warn"] | None = Field(
        None, description="`warn`: warnings that open no incident, instead of incidents."
    )


class Digest(Section):
    """One message a day instead of single alerts."""

    at: Clock = Field(description="When it is sent: a local time of the project.")


class Route(Section):
    """A route: which alerts go to which channels."""

    match: Match = Match()
    to: Annotated[tuple[str, ...], MinLen(1)] = Field(description="Channels; of `alerts.channels`.")
    quiet_hours: str | None = Field(None, description="One of `alerts.quiet_hours`.")
    unacknowledged_for: PositiveDuration | None = Field(
        None, description="Only incidents that no user acknowledged for so long: the channels to notify next."
    )

    digest: Digest | None = Field(None, description="One message a day: what opened, is open and was resolved.")

    @model_validator(mode="after")
    def _can_match(self) -> Self:
        if self.match.outcome is None:
            return self
        if self.unacknowledged_for is not None:
            raise ValueError(
                "'outcome: warn' and 'unacknowledged_for' do not go together: a warning cannot be acknowledged"
            )
        if self.match.severity is not None and self.match.severity.rank > Severity.WARNING.rank:
            raise ValueError(f"a warning has severity 'warning' at most, so that '{self.match.severity}' matches none")
        return self

    @property
    def is_for_all(self) -> bool:
        """Check whether it applies to every incident, at once."""
        return self.match == Match() and self.unacknowledged_for is None


class QuietHours(Section):
    """Hours in which a channel gets no alerts; an `end` that is not after `start` is on the next day."""

    days: Weekdays = Field(Weekdays.parse("mon-sun"), description="Days on which they start.")
    start: Clock
    end: Clock
    timezone: Zone | None = Field(None, description="Time zone; by default the project's.")
    let_through: tuple[Severity, ...] = Field((), description="Severities that are sent anyway: these and higher.")
    afterwards: Literal["catch-up", "drop"] = Field(
        "catch-up", description="Whether alerts of these hours are sent when they end, or dropped."
    )

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.start == self.end and str(self.days) == "mon-sun":
            raise ValueError("these quiet hours never end; give fewer days, or an 'end' that is not the 'start'")
        return self


class LifecycleRules(Section):
    """When incidents of a severity open and resolve; a check may have rules of its own."""

    open_on: Literal["fail", "warn"] | None = Field(
        None, description="Whether a warning opens an incident too, of severity `warning`."
    )
    open_after: Annotated[int, Ge(1)] | None = Field(None, description="Failing runs in a row that open an incident.")
    resolve_after: Annotated[int, Ge(1)] | None = Field(None, description="Passing runs in a row that resolve it.")
    confirm: ConfirmRule = Field(None, description="A second run before an incident opens.")


CauseName: TypeAlias = Annotated[
    str, MinLen(1), MaxLen(60), Field(pattern=r"^[^\s(](.*\S)?$", description="Not in parentheses.")
]


class IncidentRules(Section):
    """Causes of incidents."""

    causes: tuple[CauseName, ...] = Field(
        (), description="Accepted causes, and 'other'; by default any text.", examples=[["late upstream"]]
    )

    @property
    def choices(self) -> Sequence[str]:
        """Return the causes that people choose among; none where any text is a cause."""
        return tuple(dict.fromkeys((*self.causes, OTHER))) if self.causes else ()

    def cause(self, text: str) -> str | None:
        """Return a cause as the list has it, whatever its capitals; None for one that is not in the list."""
        listed = {item.casefold(): item for item in (OTHER, *self.causes)}
        return listed.get(text.casefold()) if self.causes else text

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len({item.casefold() for item in self.causes}) < len(self.causes):
            raise ValueError("each cause once, whatever its capitals")
        return self


_LEVEL_OF: Final = {"ttd": "time_to_detect", "ttr": "time_to_repair", "downtime": "downtime"}


class Slo(Section):
    """Service levels of each of some tables: what a contract promises, in short."""

    downtime: BudgetOfDowntime | None = Field(
        None, description="Error budget: most downtime of the table in any time of that length."
    )
    ttd: PositiveDuration | None = Field(
        None, description="Longest time from the occurrence of bad data to its detection."
    )
    ttr: PositiveDuration | None = Field(None, description="Longest time from detection to good data again.")

    @model_validator(mode="after")
    def _promises(self) -> Self:
        if not self.promised:
            raise ValueError(f"at least one of {', '.join(_LEVEL_OF)}")
        return self

    @property
    def promised(self) -> Mapping[str, Any]:
        """Return what is promised, by the name that a contract has for it."""
        return {level: value for key, level in _LEVEL_OF.items() if (value := getattr(self, key)) is not None}


class Alerts(Section):
    """When an incident opens and resolves, and who is notified."""

    open_on: Literal["fail", "warn"] = Field(
        "fail", description="Whether a warning opens an incident too, of severity `warning`."
    )
    open_after: Annotated[int, Ge(1)] = Field(1, description="Failing runs in a row that open an incident.")
    resolve_after: Annotated[int, Ge(1)] = Field(2, description="Passing runs in a row that resolve it.")
    confirm: ConfirmRule = Field(None, description="A second run before an incident opens.")
    severities: dict[Severity, LifecycleRules] = Field(
        {}, description="When incidents open and resolve, by the severity of their check."
    )
    group_wait: Duration = Field(
        timedelta(minutes=2), description="How long to collect incidents before the first alert."
    )
    remind_every: PositiveDuration = Field(timedelta(hours=24), description="How often to remind of an open incident.")
    send_resolved: bool = Field(default=True, description="Whether resolutions are sent.")
    mute_downstream: bool = Field(
        default=True, description="Whether alerts of tables downstream of an open incident are suppressed."
    )
    hourly_cap: Annotated[int, Ge(1), Le(10_000)] = Field(
        30, description="Maximum messages to a channel per hour; the rest is summarized in one message."
    )
    operators: tuple[str, ...] = Field(
        (),
        description="Channels for operational messages of Tablewatch; by default those of the routes without a match.",
    )
    error_budgets: bool = Field(
        default=False,
        description="Whether alerts are sent, by the routes of tables, while error budgets are spent too fast.",
    )
    channels: dict[str, Channel] = Field({}, description="Where alerts go, by name.")
    routes: tuple[Route, ...] = Field(
        (), description="Alert routing; every matching route applies, and the owner's channel if none does."
    )
    quiet_hours: dict[str, QuietHours] = Field({}, description="Quiet hours, by name.")

    def has_digest(self, channel: str) -> bool:
        """Check whether a route leads to a channel by a message a day."""
        return any(route.digest is not None and channel in route.to for route in self.routes)
