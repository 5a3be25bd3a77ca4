"""Measurements repeat the number of their check and of their text, in place of the words."""

from collections.abc import Mapping
from string import Template

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

_TABLES = """
CREATE TABLE series (
    id ${serial} NOT NULL,
    check_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    CONSTRAINT pk_series PRIMARY KEY (id),
    CONSTRAINT uq_series_check_id UNIQUE (check_id)
)${strict};
CREATE TABLE message_text (
    id ${serial} NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_message_text PRIMARY KEY (id),
    CONSTRAINT uq_message_text_body UNIQUE (body)
)${strict};
CREATE TABLE measurement (
    id ${serial} NOT NULL,
    run ${whole} NOT NULL,
    series ${whole} NOT NULL,
    measured_us ${whole} NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    observed TEXT NOT NULL,
    text ${whole} NOT NULL,
    message_values TEXT,
    duration_us ${whole} NOT NULL,
    CONSTRAINT pk_measurement PRIMARY KEY (id),
    CONSTRAINT uq_measurement_run_series UNIQUE (run, series),
    CONSTRAINT ck_measurement_status CHECK (${statuses}),
    CONSTRAINT ck_measurement_reason_iff_unknown CHECK ((status = 'unknown') = (reason IS NOT NULL)),
    CONSTRAINT fk_measurement_run_run FOREIGN KEY(run) REFERENCES run (number),
    CONSTRAINT fk_measurement_series_series FOREIGN KEY(series) REFERENCES series (id),
    CONSTRAINT fk_measurement_text_message_text FOREIGN KEY(text) REFERENCES message_text (id)
)${strict}
"""
_RENAMED = """
ALTER TABLE measurement RENAME CONSTRAINT pk_measurement TO pk_measurement_before;
ALTER SEQUENCE measurement_id_seq RENAME TO measurement_before_id_seq
"""
"""What PostgreSQL knows by a name that the new table needs."""
_PLACE = "${instr}(message, ',\"values\":')"
"""Where the values begin: the last key of a message, whose other keys hold text, in which a quote is escaped."""
_BODY = f"CASE {_PLACE} WHEN 0 THEN message ELSE substr(message, 1, {_PLACE} - 1) || '}}' END"
_VALUES = f"substr(message, {_PLACE} + 10, length(message) - {_PLACE} - 10)"
_ROWS = """
INSERT INTO series (check_id, table_name)
SELECT check_id, min(table_name) FROM measurement_before GROUP BY check_id ORDER BY min(id);
INSERT INTO message_text (body) SELECT ${body} FROM measurement_before GROUP BY 1 ORDER BY min(id);
INSERT INTO measurement (id, run, series, measured_us, status, reason, observed, text, message_values, duration_us)
SELECT
    old.id, old.run, series.id, old.measured_us, old.status, old.reason, old.observed, message_text.id,
    CASE WHEN ${place} = 0 OR ${values} = '{}' THEN NULL ELSE ${values} END, old.duration_us
FROM measurement_before AS old
JOIN series ON series.check_id = old.check_id
JOIN message_text ON message_text.body = ${body}
ORDER BY old.id;
DROP TABLE measurement_before;
CREATE INDEX ix_measurement_series_measured_us ON measurement (series, measured_us)
"""


def upgrade() -> None:
    """Number the checks and the texts, and write the measurements again; none of their cells is changed otherwise."""
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    statuses = " OR ".join(f"status = '{word}'" for word in ("pass", "warn", "fail", "unknown"))
    words = {"serial": "INTEGER", "whole": "INTEGER", "strict": " STRICT", "instr": "instr"}
    if on_postgresql:
        words = {"serial": "BIGSERIAL", "whole": "BIGINT", "strict": "", "instr": "strpos"}
        _execute(_RENAMED, words)
    op.execute("ALTER TABLE measurement RENAME TO measurement_before")
    _execute(_TABLES, {**words, "statuses": statuses})
    parts = {"place": _PLACE, "body": _BODY, "values": _VALUES}
    _execute(_ROWS, {name: Template(part).substitute(words) for name, part in parts.items()})
    if on_postgresql:
        op.execute("SELECT setval('measurement_id_seq', greatest(1, (SELECT max(id) FROM measurement)))")


def _execute(statements: str, words: Mapping[str, str]) -> None:
    for statement in Template(statements).substitute(words).split(";"):
        op.execute(statement)
