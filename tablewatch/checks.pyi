"""Checks as objects; written by `python -m docs.refresh` from the catalogue of checks."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Literal, TypedDict, Unpack

from checks import Check

class _Common(TypedDict, total=False):
    """What every check takes."""

    id: str | None
    """Name of the check within its table; by default the type with hyphens."""
    severity: Literal["info", "warning", "error", "critical"]
    """Severity of a failure."""
    open_on: Literal["fail", "warn"] | None
    """Whether a warning opens an incident too, of severity `warning`."""
    open_after: int | None
    """Failing runs in a row that open an incident."""
    resolve_after: int | None
    """Passing runs in a row that resolve it."""
    confirm: Mapping[str, Any] | None
    """A second run before an incident opens."""
    why: str | None
    """Why it matters, shown to the person handling the incident."""
    runbook: str | None
    """What to do when it fails: a URL, Markdown, or a `.md` file in the configuration's folder."""

def accepted_values(
    *,
    column: str,
    values: Sequence[str | date | float | Decimal | bool],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    sample: Mapping[str, Any] | None = ...,
    allow_null: bool = ...,
    max_ratio: float | Decimal = ...,
    **common: Unpack[_Common],
) -> Check:
    """Values of a column are in a list; NULL is allowed by default.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        sample: Estimate from a sample of the rows; by default all are counted.
        column: Column to check.
        values: Accepted values.
        allow_null: Whether NULL is accepted.
        max_ratio: Maximum share of failing rows, 0 to 1.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def classification(
    *,
    columns: Mapping[str, Literal["direct-identifier", "quasi-identifier", "sensitive", "other"]] = ...,
    **common: Unpack[_Common],
) -> Check:
    """Every column of the table is a direct identifier, a quasi-identifier, sensitive or other, and said to be so.

    Args:
        columns: Column classification; by default the table's `columns`.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def delta_presence(
    *,
    population: str,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    quasi_identifiers: list[str] | tuple[str, ...] = ...,
    population_columns: Mapping[str, str] = ...,
    min: float | Decimal | None = ...,
    max: float | Decimal | None = ...,
    **common: Unpack[_Common],
) -> Check:
    """For each member of the population, the probability of being in the table lies between two limits.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        quasi_identifiers: Columns an attacker knows; by default the quasi-identifiers of the table.
        population: Population table of the same source, one row per person, generalised in the same way.
        population_columns: Quasi-identifier: its name in the population table, if different.
        min: Minimum probability; above 0, every class of the population must be in the table.
        max: Maximum probability.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def diff(
    *,
    against: str,
    key: str | list[str] | tuple[str, ...],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    columns: list[str] | tuple[str, ...] | None = ...,
    at_most: int = ...,
    **common: Unpack[_Common],
) -> Check:
    """Every row is in another table with equal values and the other way round; rows with the same key are compared.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        against: Other table: its name in the configuration, `source.table`, or a table of the same source.
        key: Column or columns that identify a row in both tables.
        columns: Columns to compare; by default all of both tables.
        at_most: Maximum number of rows that differ.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def distribution(
    *,
    column: str,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    limits: Mapping[str, Any] | None = ...,
    deviation: Mapping[str, Any] | None = ...,
    reference: str | None = ...,
    reference_column: str | None = ...,
    time_column: str | None = ...,
    window: str | timedelta | None = ...,
    reference_window: str | timedelta | None = ...,
    timezone: str | None = ...,
    bins: int = ...,
    max_psi: float | Decimal | None = ...,
    max_jensen_shannon: float | Decimal | None = ...,
    max_wasserstein: float | Decimal | None = ...,
    max_new_share: float | Decimal | None = ...,
    max_lost_share: float | Decimal | None = ...,
    **common: Unpack[_Common],
) -> Check:
    """The values of a column are distributed as in a reference.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        limits: Limits that are learned from earlier measurements.
        deviation: Largest distance from what is usual, by hand.
        column: Column of numbers, text, dates or booleans.
        reference: Reference table of the same source.
        reference_column: Its name in the reference table, if different.
        time_column: Without 'reference': column with the time of a row.
        window: Rows of this most recent period are compared ...
        reference_window: ... with rows of this period before it.
        timezone: Time zone of naive times; overrides the table's.
        bins: Into how many parts of equal share the numbers of the reference are cut.
        max_psi: Maximum population stability index; 0.1 is a small change, 0.25 a large one.
        max_jensen_shannon: Maximum Jensen-Shannon distance (base 2).
        max_wasserstein: Maximum Wasserstein distance of numbers, in units of the column.
        max_new_share: Maximum share of rows whose value the reference lacks; not of numbers.
        max_lost_share: Maximum share of the reference's rows whose value is gone; not of numbers.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def expectation(
    *,
    expectation: str,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    kwargs: Mapping[str, Any] = ...,
    columns: list[str] | tuple[str, ...] = ...,
    **common: Unpack[_Common],
) -> Check:
    """A Great Expectations expectation, built-in or custom, holds for the table.

    Args:
        on_empty: Outcome without rows or values to evaluate.
        expectation: Name such as ExpectColumnValuesToMatchRegex, or in snake_case; custom ones as module:Class.
        kwargs: The arguments of the expectation.
        columns: On files and DuckDB: columns to pass in addition to those named in the arguments.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def external(
    *,
    origin: Literal["dbt", "contract", "other"],
    reference: str | None = ...,
    columns: list[str] | tuple[str, ...] | None = ...,
    every: str | timedelta = ...,
    **common: Unpack[_Common],
) -> Check:
    """A check that another tool evaluates. Its results arrive by `tablewatch import`, or over HTTP.

    Args:
        origin: Kind of tool that evaluates it.
        reference: Name of the check in the other tool; by default the id.
        columns: Columns that it is about, where that is known.
        every: Longest time between two results; later, the check counts as not run.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def foreign_key(
    *,
    references: str | list[str] | tuple[str, ...],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    column: str | None = ...,
    columns: list[str] | tuple[str, ...] | None = ...,
    max_ratio: float | Decimal = ...,
    **common: Unpack[_Common],
) -> Check:
    """Every value is found in another table; a NULL in it points to nothing and is no orphan (MATCH SIMPLE).

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        column: Foreign key column.
        columns: Foreign key columns.
        references: `table.column`, split at the last dot; for several columns a list in their order.
        max_ratio: Maximum share of failing rows, 0 to 1.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def freshness(
    *,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    by: str | list[str] | tuple[str, ...] | Mapping[str, Any] | None = ...,
    limits: Mapping[str, Any] | None = ...,
    deviation: Mapping[str, Any] | None = ...,
    column: str | None = ...,
    epoch: Literal["seconds", "milliseconds"] | None = ...,
    time: Literal["scan", "catalogue", "last_write"] = ...,
    max_age: str | timedelta | None = ...,
    skew: str | timedelta = ...,
    timezone: str | None = ...,
    expected: Mapping[str, Any] | None = ...,
    **common: Unpack[_Common],
) -> Check:
    """The newest row is not older than a length of time, counted while rows are expected.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        by: Columns whose values make segments, each judged for itself.
        limits: Limits that are learned from earlier measurements.
        deviation: Largest distance from what is usual, by hand.
        column: Column with the event or load time of a row.
        epoch: Unit of a column of whole numbers since 1970 (UTC).
        time: Judged time: of the newest row, by a scan or by statistics of files, or of the last write, which is not
            the time of the newest row.
        max_age: Maximum age of the newest row.
        skew: Tolerated clock skew into the future; later rows are ignored.
        timezone: Time zone of naive values; overrides the table's.
        expected: When rows are expected; by default always.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def functional_dependency(
    *,
    determinant: list[str] | tuple[str, ...],
    dependent: str,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    max_ratio: float | Decimal = ...,
    **common: Unpack[_Common],
) -> Check:
    """Rows that agree in some columns agree in another; a row with a NULL in one of them is not compared.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        determinant: Columns that determine the other one.
        dependent: Column whose value they determine.
        max_ratio: Maximum share of failing rows, 0 to 1.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def k_anonymity(
    *,
    k: int,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    person: str | None = ...,
    identifiers: list[str] | tuple[str, ...] | None = ...,
    pseudonyms: list[str] | tuple[str, ...] = ...,
    quasi_identifiers: list[str] | tuple[str, ...] = ...,
    incremental: Mapping[str, Any] | None = ...,
    max_average_risk: float | Decimal | None = ...,
    other_readings: bool = ...,
    population: str | None = ...,
    population_columns: Mapping[str, str] = ...,
    **common: Unpack[_Common],
) -> Check:
    """No combination of quasi-identifiers belongs to fewer than k records.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        person: Column that identifies the person: people are counted, not rows; rows without one are one person.
        identifiers: Direct identifiers that are counted in the same way where they repeat, if there is no 'person'; by
            default those the table classifies as such.
        pseudonyms: Identifiers that leave as pseudonyms: rows of a person can be linked, so classes are of people who
            are alike in all of their rows.
        quasi_identifiers: Quasi-identifiers; by default those the table classifies as such.
        incremental: Store the counts and count only changes: by append or changes.
        k: Minimum equivalence class size.
        max_average_risk: Maximum mean re-identification risk: equivalence classes per record.
        other_readings: Also measure k with NULL as a wildcard, and with normalised spelling.
        population: Population table, one row per person, generalised in the same way: adds journalist risk.
        population_columns: Quasi-identifier: its name in the population table, if different.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def l_diversity(
    *,
    l: float | Decimal,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    person: str | None = ...,
    identifiers: list[str] | tuple[str, ...] | None = ...,
    pseudonyms: list[str] | tuple[str, ...] = ...,
    quasi_identifiers: list[str] | tuple[str, ...] = ...,
    missing_is_a_value: list[str] | tuple[str, ...] = ...,
    spelling_is_a_value: list[str] | tuple[str, ...] = ...,
    sensitive: list[str] | tuple[str, ...] = ...,
    variant: Literal["distinct", "entropy", "recursive"] = ...,
    c: float | Decimal | None = ...,
    **common: Unpack[_Common],
) -> Check:
    """Every equivalence class is diverse in its sensitive values.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        person: Column that identifies the person: people are counted, not rows; rows without one are one person.
        identifiers: Direct identifiers that are counted in the same way where they repeat, if there is no 'person'; by
            default those the table classifies as such.
        pseudonyms: Identifiers that leave as pseudonyms: rows of a person can be linked, so classes are of people who
            are alike in all of their rows.
        quasi_identifiers: Quasi-identifiers; by default those the table classifies as such.
        missing_is_a_value: Sensitive columns in which NULL is a value like any other.
        spelling_is_a_value: Sensitive columns in which values that differ in case or white space are different values.
        sensitive: Sensitive columns, each evaluated separately; by default those the table classifies as such.
        l: Minimum diversity of an equivalence class.
        variant: Variant: distinct values, exp of their entropy, or recursive (c, l)-diversity.
        c: For recursive diversity: the most frequent value occurs less than c times as often as the l-th and later
            ones.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def linkage(
    *,
    auxiliary: str,
    on: list[str] | tuple[str, ...] | Mapping[str, str],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    tolerance: Mapping[str, float | Decimal | str | date] = ...,
    entity: str | Mapping[str, str] | None = ...,
    at_least: int | None = ...,
    max_unique_fraction: float | Decimal = ...,
    **common: Unpack[_Common],
) -> Check:
    """At most a share of the records match one and only one record of an auxiliary table.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        auxiliary: Auxiliary table an attacker may have, of the same source.
        on: Shared columns; or own column: its name in the auxiliary table.
        tolerance: Matching tolerance by own column; exact by default.
        entity: Person key column if a person has several rows; or own column: its name there.
        at_least: How many known rows of a person must match; by default all.
        max_unique_fraction: Maximum share that may match exactly one, 0 to 1.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def metric(
    *,
    aggregate: Literal["count", "sum", "mean", "min", "max", "distinct", "stddev", "share"],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    by: str | list[str] | tuple[str, ...] | Mapping[str, Any] | None = ...,
    limits: Mapping[str, Any] | None = ...,
    deviation: Mapping[str, Any] | None = ...,
    sample: Mapping[str, Any] | None = ...,
    column: str | None = ...,
    value: str | date | float | Decimal | bool | None = ...,
    min: float | Decimal | str | date | None = ...,
    max: float | Decimal | str | date | None = ...,
    tolerance: float | Decimal | str | date = ...,
    max_deviation: float | Decimal | None = ...,
    compare: Literal["same_weekday"] = ...,
    weeks: int = ...,
    time_column: str | None = ...,
    window: str | timedelta | None = ...,
    timezone: str | None = ...,
    **common: Unpack[_Common],
) -> Check:
    """An aggregate stays within limits, or near its median on the same weekday of the weeks before.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        by: Columns whose values make segments, each judged for itself.
        limits: Limits that are learned from earlier measurements.
        deviation: Largest distance from what is usual, by hand.
        sample: Estimate from a sample of the rows; by default all are counted.
        aggregate: Aggregate function.
        column: Column to aggregate; not used by 'count'.
        value: With 'share': the value whose share of rows is measured.
        min: Minimum.
        max: Maximum.
        tolerance: Tolerance beyond 'min' and 'max': floating-point sums are inexact.
        max_deviation: Maximum deviation from the median of the same weekday, as a share of that median.
        compare: Baseline of the deviation.
        weeks: Number of past weeks whose same weekday forms the baseline.
        time_column: With 'window': column with the event time of a row.
        window: Aggregate only rows of this most recent period.
        timezone: Time zone of naive event times; overrides the table's.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def not_null(
    *,
    columns: list[str] | tuple[str, ...],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    by: str | list[str] | tuple[str, ...] | Mapping[str, Any] | None = ...,
    limits: Mapping[str, Any] | None = ...,
    deviation: Mapping[str, Any] | None = ...,
    sample: Mapping[str, Any] | None = ...,
    max_ratio: float | Decimal | None = ...,
    **common: Unpack[_Common],
) -> Check:
    """Named columns hold no NULL, or at most a share of them.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        by: Columns whose values make segments, each judged for itself.
        limits: Limits that are learned from earlier measurements.
        deviation: Largest distance from what is usual, by hand.
        sample: Estimate from a sample of the rows; by default all are counted.
        columns: Columns, each checked separately.
        max_ratio: Maximum share of NULL in each column, 0 to 1; 0 unless limits are learned.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def pattern(
    *,
    column: str,
    pattern: str,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    sample: Mapping[str, Any] | None = ...,
    max_ratio: float | Decimal = ...,
    **common: Unpack[_Common],
) -> Check:
    """Values of a column of texts match a regular expression; NULL is allowed.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        sample: Estimate from a sample of the rows; by default all are counted.
        column: Column to check.
        pattern: Regular expression for the whole value.
        max_ratio: Maximum share of failing rows, 0 to 1.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def population_uniqueness(
    *,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    person: str | None = ...,
    identifiers: list[str] | tuple[str, ...] | None = ...,
    pseudonyms: list[str] | tuple[str, ...] = ...,
    quasi_identifiers: list[str] | tuple[str, ...] = ...,
    incremental: Mapping[str, Any] | None = ...,
    sampling_fraction: float | Decimal | None = ...,
    population_size: int | None = ...,
    weight: str | None = ...,
    group_key: str | None = ...,
    max_population_unique_fraction: float | Decimal | None = ...,
    max_individual_risk: float | Decimal | None = ...,
    max_group_risk: float | Decimal | None = ...,
    model: Literal["decision", "zayatz", "pitman", "snb", "poisson_gamma"] = ...,
    **common: Unpack[_Common],
) -> Check:
    """At most a share of the population, of which the table is a sample, is unique in the quasi-identifiers.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        person: Column that identifies the person: people are counted, not rows; rows without one are one person.
        identifiers: Direct identifiers that are counted in the same way where they repeat, if there is no 'person'; by
            default those the table classifies as such.
        pseudonyms: Identifiers that leave as pseudonyms: rows of a person can be linked, so classes are of people who
            are alike in all of their rows.
        quasi_identifiers: Quasi-identifiers; by default those the table classifies as such.
        incremental: Store the counts and count only changes: by append or changes.
        sampling_fraction: Share of the population that is in the table, up to 1. This, 'population_size' or 'weight'.
        population_size: Number of rows of the whole population. This, 'sampling_fraction' or 'weight'.
        weight: Column of sampling weights: how many of the population a row stands for, at least 1.
        group_key: Column of groups (households) whose members name one another: adds the risk of a group.
        max_population_unique_fraction: Maximum share of population uniques, 0 to 1.
        max_individual_risk: Maximum individual risk of a record (Benedetti and Franconi), above 0 up to 1.
        max_group_risk: Maximum risk of a group of 'group_key', above 0 up to 1.
        model: Estimation model; 'decision' selects one by the sampling fraction.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def primary_key(
    *,
    columns: list[str] | tuple[str, ...],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    **common: Unpack[_Common],
) -> Check:
    """A key is there in every row and names one row only.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        columns: Key columns.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def range(
    *,
    column: str,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    by: str | list[str] | tuple[str, ...] | Mapping[str, Any] | None = ...,
    sample: Mapping[str, Any] | None = ...,
    min: float | Decimal | str | date | None = ...,
    max: float | Decimal | str | date | None = ...,
    exclusive_min: bool = ...,
    exclusive_max: bool = ...,
    max_ratio: float | Decimal = ...,
    **common: Unpack[_Common],
) -> Check:
    """Values lie between two limits, which are numbers, dates or times; NULL is allowed.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        by: Columns whose values make segments, each judged for itself.
        sample: Estimate from a sample of the rows; by default all are counted.
        column: Column to check.
        min: Minimum.
        max: Maximum.
        exclusive_min: Whether the minimum itself is excluded.
        exclusive_max: Whether the maximum itself is excluded.
        max_ratio: Maximum share of failing rows, 0 to 1.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def re_release(
    *,
    person: list[str] | tuple[str, ...],
    k: int,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    quasi_identifiers: list[str] | tuple[str, ...] = ...,
    sensitive: list[str] | tuple[str, ...] = ...,
    l: float | Decimal | None = ...,
    t: float | Decimal | None = ...,
    **common: Unpack[_Common],
) -> Check:
    """No person is in a group smaller than k, or whose values are too few, beside earlier releases of the table.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        person: Person key columns, the same in every release.
        quasi_identifiers: Quasi-identifiers; by default those the table classifies as such.
        k: Minimum group size in people.
        sensitive: Sensitive columns, each evaluated separately; by default those the table classifies as such.
        l: Minimum distinct sensitive values of a group, also of the difference to each release.
        t: Maximum distance between the sensitive values of such a group and of the table.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def reconcile(
    *,
    aggregate: Literal["count", "sum", "mean", "min", "max", "distinct", "stddev"],
    against: Mapping[str, Any],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    column: str | None = ...,
    tolerance: float | Decimal | str | date = ...,
    relative_tolerance: float | Decimal | str | date = ...,
    **common: Unpack[_Common],
) -> Check:
    """An aggregate equals that of another table, of the same source or another one, within a tolerance.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        aggregate: Aggregate function.
        column: Column to aggregate; not used by 'count'.
        against: What the aggregate is compared with.
        tolerance: Maximum absolute difference.
        relative_tolerance: Maximum relative difference to the other value; the larger tolerance applies.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def reidentification_by_subset(
    *,
    max_unique_fraction: float | Decimal,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    quasi_identifiers: list[str] | tuple[str, ...] = ...,
    known: int = ...,
    special_uniques: bool = ...,
    person: str | None = ...,
    **common: Unpack[_Common],
) -> Check:
    """No set of up to `known` quasi-identifiers makes more than a share of the records unique.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        quasi_identifiers: Columns to combine; by default the quasi-identifiers of the table.
        known: Maximum number of columns an attacker knows.
        max_unique_fraction: Maximum share of records that a column set may identify.
        special_uniques: Also count records that are unique in a set and in none of its parts (SUDA).
        person: Column that identifies the person: people are counted, not rows; rows without one are one.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def schema(
    *,
    columns: Mapping[str, str | None] | list[str] | tuple[str, ...] | None = ...,
    extra: Literal["forbid", "allow"] = ...,
    order: bool = ...,
    on_change: Literal["incident", "notify"] = ...,
    **common: Unpack[_Common],
) -> Check:
    """The columns are the agreed ones, or, if none are named, those of the last accepted measurement.

    Args:
        columns: Names with types (null: any type), or names only; by default the last accepted columns.
        extra: Whether additional columns are allowed.
        order: Whether the column order is checked.
        on_change: Whether a change fails, or only warns once and is accepted.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def sql(
    *,
    query: str,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    max: int = ...,
    **common: Unpack[_Common],
) -> Check:
    """A SELECT of one's own, which returns the bad rows, returns none; only their number is read.

    Args:
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        query: One SELECT in the source's dialect that returns the bad rows; it is only counted.
        max: Maximum number of rows the query may return.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def t_closeness(
    *,
    t: float | Decimal,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    person: str | None = ...,
    identifiers: list[str] | tuple[str, ...] | None = ...,
    pseudonyms: list[str] | tuple[str, ...] = ...,
    quasi_identifiers: list[str] | tuple[str, ...] = ...,
    missing_is_a_value: list[str] | tuple[str, ...] = ...,
    spelling_is_a_value: list[str] | tuple[str, ...] = ...,
    sensitive: list[str] | tuple[str, ...] = ...,
    distance: Literal["equal", "ordered"] = ...,
    hierarchy: Mapping[str, list[str] | tuple[str, ...]] | str | None = ...,
    reference: str | None = ...,
    reference_columns: Mapping[str, str] = ...,
    **common: Unpack[_Common],
) -> Check:
    """In every equivalence class, sensitive values are distributed as in the whole table.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        person: Column that identifies the person: people are counted, not rows; rows without one are one person.
        identifiers: Direct identifiers that are counted in the same way where they repeat, if there is no 'person'; by
            default those the table classifies as such.
        pseudonyms: Identifiers that leave as pseudonyms: rows of a person can be linked, so classes are of people who
            are alike in all of their rows.
        quasi_identifiers: Quasi-identifiers; by default those the table classifies as such.
        missing_is_a_value: Sensitive columns in which NULL is a value like any other.
        spelling_is_a_value: Sensitive columns in which values that differ in case or white space are different values.
        sensitive: Sensitive columns, each evaluated separately; by default those the table classifies as such.
        t: Maximum distance between the distribution of a class and of the table.
        distance: Distance between two values: all equal, or by rank (numbers and times).
        hierarchy: Alternative: distance by the common ancestor. Value to ancestors, or lines `value;ancestor;...`.
        reference: Additional reference table of the same source, such as the original table.
        reference_columns: Sensitive column: its name in the reference table, if different.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def unique(
    *,
    columns: list[str] | tuple[str, ...],
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    nulls: Literal["distinct", "equal"] = ...,
    **common: Unpack[_Common],
) -> Check:
    """Combinations of values are unique; NULL is allowed.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        columns: Columns whose combined values are unique.
        nulls: Whether NULLs are distinct, as in standard SQL, or equal.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """

def volume(
    *,
    where: str | None = ...,
    on_empty: Literal["unknown", "pass", "fail"] = ...,
    warn: Mapping[str, Any] = ...,
    by: str | list[str] | tuple[str, ...] | Mapping[str, Any] | None = ...,
    limits: Mapping[str, Any] | None = ...,
    deviation: Mapping[str, Any] | None = ...,
    min: int | None = ...,
    max: int | None = ...,
    min_ratio: float | Decimal | None = ...,
    max_ratio: float | Decimal | None = ...,
    compare: Literal["same_weekday"] = ...,
    weeks: int = ...,
    column: str | None = ...,
    window: str | timedelta | None = ...,
    timezone: str | None = ...,
    count: Literal["scan", "catalogue"] = ...,
    **common: Unpack[_Common],
) -> Check:
    """The number of rows, of all or of a recent window, stays within limits or near what it usually is.

    Args:
        where: A boolean SQL expression over the table's own columns, in the source's dialect.
        on_empty: Outcome without rows or values to evaluate.
        warn: Warning limits; violating only these is a warning, not a failure.
        by: Columns whose values make segments, each judged for itself.
        limits: Limits that are learned from earlier measurements.
        deviation: Largest distance from what is usual, by hand.
        min: Minimum number of rows.
        max: Maximum number of rows.
        min_ratio: Minimum number of rows, as a share of the usual number.
        max_ratio: Maximum number of rows, as a share of the usual number.
        compare: Baseline of the usual number.
        weeks: Number of past weeks whose same weekday forms the baseline.
        column: With 'window': column with the event time of a row.
        window: Count only rows of this most recent period.
        timezone: Time zone of naive values; overrides the table's.
        count: How rows are counted; the catalogue of PostgreSQL or MySQL says about how many there are.
        **common: What every check takes.

    Raises:
        InvalidInput: a parameter is wrong.
    """
