"""Notify channels that an error budget is being spent too fast, once, and once that it no longer is.

The routes of the tables decide on the channels, by the severity of the rule (`incidents.error_budgets.BURN_RULES`). A
rule of a higher severity is sent again, one of a lower is not. Silences of all tables delay the first message, quiet
hours and `hourly_cap` delay both. Which messages were sent is read from the store, so that it survives a restart;
what is held back is decided again the next time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from checks import Kind, Message, Severity
from incidents import FastBurn, Window
from monitor.alerts.batch import HOUR, rate_limit
from monitor.alerts.hold import held_until
from monitor.alerts.message import MessageComposer
from monitor.alerts.operational import Operation, OperationalEvent, operation_message
from monitor.alerts.route import any_way, channels_for
from monitor.alerts.wording import plain
from monitor.config import Config
from monitor.config.project import Project
from monitor.config.promised import PromisedContract, promised_contracts
from monitor.reporting.sentences import length
from monitor.summaries.service_levels import fast_burns, judge_contract, survey_of
from store import Delivery, MessageSubject, ReadTransaction, Silence, Store

_MOST: Final = 10_000
_REMEMBERED: Final = timedelta(days=366)
_TABLES_NAMED: Final = 10
_DAY: Final = timedelta(days=1)

Notice: TypeAlias = tuple[str, str, Severity | None]
"""A contract, a channel to notify of it, and the severity; None: its budget is no longer spent too fast."""

Notified: TypeAlias = Mapping[tuple[str, str], Severity]
"""The severity of the last notice that a budget is being spent too fast, by contract and channel."""


class BurnAlerts:
    """The notices of one daemon about error budgets."""

    def __init__(self) -> None:
        """Begin with the messages in the store."""
        self._notified: Notified | None = None

    def step(self, project: Project, store: Store, now: datetime) -> int:
        """Write the messages that are due, and return their number.

        Raises:
            StoreError: the store cannot be used; the rest is written the next time.
        """
        promises = {promise.name: promise for promise in promised_contracts(project.config)}
        with store.reading() as tx:
            notified = notified_budgets(tx, now) if self._notified is None else self._notified
            burns = fast_burns(project, tx, list(promises.values()), now)
            silences = tx.silences.all(active_at=now)
            wanted = _notices(project, promises, burns, notified, silences=silences, now=now)
            notices = _within_cap(tx, wanted, project.config.alerts.hourly_cap, now)
            events = {
                name: _begin(project, tx, promises[name], burns[name], now)
                if name in burns
                else OperationalEvent(Operation.BUDGET_CALM, name)
                for name in {name for name, *_ in notices}
            }
        if notices:
            composer = MessageComposer(project, now)
            with store.writing() as tx:
                at = tx.schedule.clock(now)
                tx.deliveries.add(
                    [operation_message(composer, channel, events[name], now=at) for name, channel, _ in notices]
                )
        changed = {**notified, **{(name, channel): severity for name, channel, severity in notices}}
        self._notified = {key: severity for key, severity in changed.items() if severity is not None}
        return len(notices)


def notified_budgets(tx: ReadTransaction, now: datetime) -> Notified:
    """Return the last notices by the newest message about each budget to each channel."""
    newest: dict[tuple[str, str], Severity | None] = {}
    for delivery in _messages(tx, now - _REMEMBERED):
        payload = delivery.payload
        burning = payload["operation"] == Operation.BUDGET_BURNING
        severity = Severity(payload["severity"]) if burning else None
        newest.setdefault((payload["name"], delivery.channel), severity)
    return {key: severity for key, severity in newest.items() if severity is not None}


def _messages(tx: ReadTransaction, since: datetime) -> Iterator[Delivery]:
    """Yield the messages about budgets that were written since a moment, newest first."""
    for delivery in tx.deliveries.since(since, _MOST, subject=MessageSubject.OPERATIONS):
        if delivery.payload.get("operation") in {Operation.BUDGET_BURNING, Operation.BUDGET_CALM}:
            yield delivery


def _notices(
    project: Project,
    promises: Mapping[str, PromisedContract],
    burns: Mapping[str, FastBurn],
    notified: Notified,
    *,
    silences: Sequence[Silence],
    now: datetime,
) -> Iterator[Notice]:
    """Yield the notices that are due, the most severe first.

    While the file of a team is left out, the promises about its tables are not known.
    """
    config = project.config
    for name, burn in sorted(burns.items(), key=lambda item: -item[1].rule.severity.rank):
        tables = promises[name].contract.tables
        severity = burn.rule.severity
        if all(_is_silenced(config, table, silences) for table in tables):
            continue
        ways = [channels_for(table, config, severity=severity, kind=Kind.QUALITY).channels for table in tables]
        for channel in dict.fromkeys(channel for way in ways for channel in way):
            last = notified.get((name, channel))
            is_new = last is None or last.rank < severity.rank
            if (
                is_new
                and not config.alerts.channels[channel].kind.follows
                and not _is_quiet(config, channel, severity, now)
            ):
                yield name, channel, severity
    for (name, channel), severity in notified.items():
        may_end = channel in config.alerts.channels and (name in promises or not project.loaded.left_out)
        if name not in burns and may_end and not _is_quiet(config, channel, severity, now):
            yield name, channel, None


def _within_cap(tx: ReadTransaction, notices: Iterable[Notice], cap: int, now: datetime) -> Sequence[Notice]:
    """Return the notices that the rate limit allows, with the messages about incidents and budgets of the hour."""
    wanted = list(notices)
    if not wanted:
        return ()
    hour = now - HOUR
    sent = {**tx.deliveries.created_since(hour, {item[1] for item in wanted})}
    for message in _messages(tx, hour):
        sent.get(message.channel, []).append(message.created_at)
    allowed = []
    for item in wanted:
        if rate_limit(sent[item[1]], cap, now).free:
            sent[item[1]].append(now)
            allowed.append(item)
    return allowed


def _is_silenced(config: Config, name: str, silences: Sequence[Silence]) -> bool:
    table = config.table(name)
    about = {"all": None, "table": name, "domain": None if table is None else table.domain}
    return any(silence.scope == "all" or silence.name == about[silence.scope] for silence in silences)


def _is_quiet(config: Config, channel: str, severity: Severity, now: datetime) -> bool:
    """Check whether all routes to a channel have quiet hours now that hold back a severity."""
    quiet = any_way(channel, config).quiet
    hours = [config.alerts.quiet_hours[name] for name in quiet]
    return bool(hours) and all(held_until(item, severity, now, zone=config.timezone) is not None for item in hours)


def _begin(
    project: Project, tx: ReadTransaction, promise: PromisedContract, burn: FastBurn, now: datetime
) -> OperationalEvent:
    """Return the event that a budget is being spent too fast, with burn rates and the share that is spent."""
    tables = promise.contract.tables
    text = ", ".join(tables[:_TABLES_NAMED]) + (" ..." if len(tables) > _TABLES_NAMED else "")
    facts = [(Message("Tables"), Message("{text}", {"text": plain(text)})), (Message("Burn rate"), _rates(burn))]
    budget = judge_contract(promise, survey_of(project, tx, [promise], Window.of(now - _DAY, now), as_of=now)).budget
    if budget is not None:
        times = {"spent": budget.spent.seen, "allowed": budget.allowed_us, "per": budget.per_us}
        spent = Message(
            "{spent:hours} of {allowed:hours} of downtime spent in {per:duration}",
            {name: length(time) for name, time in times.items()},
        )
        facts.append((Message("Error budget"), spent))
    return OperationalEvent(Operation.BUDGET_BURNING, promise.name, severity=burn.rule.severity, facts=tuple(facts))


def _rates(burn: FastBurn) -> Message:
    return Message(
        "{burn:number} in the last {long:duration} and {now:number} in the last {short:duration}; alerts above "
        "{limit:number}",
        {
            "burn": round(float(burn.long.seen), 2),
            "now": round(float(burn.short.seen), 2),
            "limit": round(float(burn.rule.rate), 2),
            "long": length(burn.long.length_us),
            "short": length(burn.short.length_us),
        },
    )
