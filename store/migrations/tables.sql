-- The tables of revision 0008, in the order of their references: SQLite, and PostgreSQL where it differs by these words
-- (`store._schema`): serial, numbered (never given twice), whole, bytes, strict, clustered (rows in the order of the key).
-- One statement a paragraph. A list of words is no IN: `store._columns.one_of` says why.

CREATE TABLE store_revision (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT store_revision_pkc PRIMARY KEY (version_num)
)

CREATE TABLE project (
    id ${serial} NOT NULL,
    name TEXT NOT NULL,
    CONSTRAINT pk_project PRIMARY KEY (id),
    CONSTRAINT ck_project_one CHECK (id = 1)
)${strict}

CREATE TABLE run (
    number ${serial} NOT NULL,
    id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    started_us ${whole} NOT NULL,
    ended_us ${whole} NOT NULL,
    cost_us ${whole},
    rows_read ${whole},
    bytes_read ${whole},
    CONSTRAINT pk_run PRIMARY KEY (number),
    CONSTRAINT uq_run_id UNIQUE (id)
)${strict}

CREATE INDEX ix_run_started_us ON run (started_us)

CREATE TABLE daily_cost (
    day TEXT NOT NULL,
    source TEXT NOT NULL,
    table_name TEXT NOT NULL,
    runs ${whole} NOT NULL,
    cost_us ${whole} NOT NULL,
    rows_read ${whole},
    bytes_read ${whole},
    CONSTRAINT pk_daily_cost PRIMARY KEY (day, source, table_name)
)${clustered}

CREATE INDEX ix_daily_cost_table_name_day ON daily_cost (table_name, day)

CREATE TABLE series (
    id ${serial} NOT NULL,
    check_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    CONSTRAINT pk_series PRIMARY KEY (id),
    CONSTRAINT uq_series_check_id UNIQUE (check_id)
)${strict}

CREATE TABLE message_text (
    id ${serial} NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_message_text PRIMARY KEY (id),
    CONSTRAINT uq_message_text_body UNIQUE (body)
)${strict}

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
    CONSTRAINT ck_measurement_status CHECK (status = 'pass' OR status = 'warn' OR status = 'fail' OR status = 'unknown'),
    CONSTRAINT ck_measurement_reason_iff_unknown CHECK ((status = 'unknown') = (reason IS NOT NULL)),
    CONSTRAINT fk_measurement_run_run FOREIGN KEY(run) REFERENCES run (number),
    CONSTRAINT fk_measurement_series_series FOREIGN KEY(series) REFERENCES series (id),
    CONSTRAINT fk_measurement_text_message_text FOREIGN KEY(text) REFERENCES message_text (id)
)${strict}

CREATE INDEX ix_measurement_series_measured_us ON measurement (series, measured_us)

CREATE TABLE check_state (
    check_id TEXT NOT NULL,
    monitored_since_us ${whole} NOT NULL,
    last_run_us ${whole} NOT NULL,
    last_status TEXT NOT NULL,
    last_pass_ended_us ${whole},
    failing_since_us ${whole},
    fail_streak ${whole} NOT NULL,
    passing_since_us ${whole},
    pass_streak ${whole} NOT NULL,
    recent TEXT NOT NULL,
    flapping ${whole} NOT NULL,
    place TEXT,
    CONSTRAINT pk_check_state PRIMARY KEY (check_id),
    CONSTRAINT ck_check_state_streaks CHECK (fail_streak >= 0 AND pass_streak >= 0),
    CONSTRAINT ck_check_state_flapping CHECK (flapping IN (0, 1))
)${strict}

CREATE TABLE incident (
    id ${numbered},
    fingerprint TEXT NOT NULL,
    table_name TEXT NOT NULL,
    check_id TEXT,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    title TEXT NOT NULL,
    title_values TEXT NOT NULL,
    found_by TEXT NOT NULL,
    state TEXT NOT NULL,
    resolution TEXT,
    cause TEXT,
    detected_us ${whole} NOT NULL,
    ended_us ${whole},
    assignee TEXT,
    snoozed_until_us ${whole},
    regressed ${whole} NOT NULL,
    flapping ${whole} NOT NULL,
    root ${whole},
    merged_into ${whole},
    answered ${whole} DEFAULT 0 NOT NULL,
    CONSTRAINT ck_incident_kind CHECK (kind = 'quality' OR kind = 'disclosure'),
    CONSTRAINT ck_incident_severity CHECK (severity = 'info' OR severity = 'warning' OR severity = 'error' OR severity = 'critical'),
    CONSTRAINT ck_incident_found_by CHECK (found_by = 'check' OR found_by = 'person'),
    CONSTRAINT ck_incident_state CHECK (state = 'open' OR state = 'acknowledged' OR state = 'resolved'),
    CONSTRAINT ck_incident_resolution CHECK (resolution = 'fixed' OR resolution = 'no-action' OR resolution = 'expected' OR resolution = 'false-positive' OR resolution = 'duplicate'),
    CONSTRAINT ck_incident_resolution_iff_resolved CHECK ((state = 'resolved') = (resolution IS NOT NULL)),
    CONSTRAINT ck_incident_ended_iff_resolved CHECK ((state = 'resolved') = (ended_us IS NOT NULL)),
    CONSTRAINT ck_incident_regressed CHECK (regressed IN (0, 1)),
    CONSTRAINT ck_incident_flapping CHECK (flapping IN (0, 1))
)${strict}

CREATE INDEX ix_incident_check_id ON incident (check_id) WHERE check_id IS NOT NULL

CREATE INDEX ix_incident_detected_us ON incident (detected_us)

CREATE INDEX ix_incident_fingerprint ON incident (fingerprint)

CREATE INDEX ix_incident_merged_into ON incident (merged_into) WHERE merged_into IS NOT NULL

CREATE INDEX ix_incident_root ON incident (root) WHERE root IS NOT NULL

CREATE INDEX ix_incident_table_name_detected_us ON incident (table_name, detected_us)

CREATE UNIQUE INDEX uq_incident_open_fingerprint ON incident (fingerprint) WHERE state <> 'resolved'

CREATE TABLE episode (
    incident_id ${whole} NOT NULL,
    number ${whole} NOT NULL,
    occurred_us ${whole} NOT NULL,
    earliest_us ${whole} NOT NULL,
    latest_us ${whole} NOT NULL,
    method TEXT NOT NULL,
    first_failed_us ${whole},
    detected_us ${whole} NOT NULL,
    resolved_us ${whole},
    acknowledged_us ${whole},
    CONSTRAINT pk_episode PRIMARY KEY (incident_id, number),
    CONSTRAINT ck_episode_method CHECK (method = 'last-good-run' OR method = 'freshness-deadline' OR method = 'bad-rows' OR method = 'first-observation' OR method = 'person'),
    CONSTRAINT fk_episode_incident_id_incident FOREIGN KEY(incident_id) REFERENCES incident (id)
)${clustered}

CREATE INDEX ix_episode_resolved_us_earliest_us_occurred_us ON episode (resolved_us, earliest_us, occurred_us)

CREATE TABLE incident_event (
    id ${serial} NOT NULL,
    incident_id ${whole} NOT NULL,
    number ${whole} NOT NULL,
    recorded_us ${whole} NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum TEXT,
    CONSTRAINT pk_incident_event PRIMARY KEY (id),
    CONSTRAINT uq_incident_event_incident_id_number UNIQUE (incident_id, number),
    CONSTRAINT fk_incident_event_incident_id_incident FOREIGN KEY(incident_id) REFERENCES incident (id) DEFERRABLE INITIALLY DEFERRED
)${strict}

CREATE TABLE gap (
    id ${serial} NOT NULL,
    check_id TEXT NOT NULL,
    table_name TEXT NOT NULL,
    started_us ${whole} NOT NULL,
    ended_us ${whole} NOT NULL,
    reason TEXT NOT NULL,
    CONSTRAINT pk_gap PRIMARY KEY (id)
)${strict}

CREATE INDEX ix_gap_check_id_started_us ON gap (check_id, started_us)

CREATE INDEX ix_gap_ended_us_started_us ON gap (ended_us, started_us)

CREATE TABLE schedule (
    table_name TEXT NOT NULL,
    schedule TEXT NOT NULL,
    zone TEXT NOT NULL,
    next_slot_us ${whole} NOT NULL,
    due_us ${whole} NOT NULL,
    delayed_us ${whole},
    CONSTRAINT pk_schedule PRIMARY KEY (table_name)
)${strict}

CREATE INDEX ix_schedule_due_us_table_name ON schedule (due_us, table_name)

CREATE INDEX ix_schedule_delayed ON schedule (table_name) WHERE delayed_us IS NOT NULL

CREATE TABLE slot (
    id ${serial} NOT NULL,
    table_name TEXT NOT NULL,
    slot_us ${whole} NOT NULL,
    epoch ${whole} NOT NULL,
    state TEXT NOT NULL,
    attempt ${whole} NOT NULL,
    holder TEXT NOT NULL,
    started_us ${whole} NOT NULL,
    heartbeat_us ${whole},
    lease_until_us ${whole} NOT NULL,
    ended_us ${whole},
    run_id TEXT,
    CONSTRAINT pk_slot PRIMARY KEY (id),
    CONSTRAINT uq_slot_table_name_slot_us_epoch UNIQUE (table_name, slot_us, epoch),
    CONSTRAINT ck_slot_state CHECK (state = 'running' OR state = 'done' OR state = 'given-up'),
    CONSTRAINT ck_slot_ended_iff_not_running CHECK ((state = 'running') = (ended_us IS NULL)),
    CONSTRAINT ck_slot_attempt CHECK (attempt >= 1)
)${strict}

CREATE INDEX ix_slot_running_lease ON slot (lease_until_us) WHERE state = 'running'

CREATE INDEX ix_slot_started_us ON slot (started_us)

CREATE UNIQUE INDEX uq_slot_running_table ON slot (table_name) WHERE state = 'running'

CREATE TABLE skip (
    id ${serial} NOT NULL,
    table_name TEXT NOT NULL,
    first_us ${whole} NOT NULL,
    last_us ${whole} NOT NULL,
    count ${whole} NOT NULL,
    reason TEXT NOT NULL,
    CONSTRAINT pk_skip PRIMARY KEY (id),
    CONSTRAINT ck_skip_reason CHECK (reason = 'late' OR reason = 'overrun' OR reason = 'daily-limit' OR reason = 'policy' OR reason = 'changed'),
    CONSTRAINT ck_skip_some CHECK (count >= 1 AND last_us >= first_us)
)${strict}

CREATE INDEX ix_skip_last_us ON skip (last_us)

CREATE TABLE clock (
    id ${serial} NOT NULL,
    epoch ${whole} NOT NULL,
    latest_us ${whole} NOT NULL,
    trusted_us ${whole},
    confirmed_us ${whole},
    boot TEXT,
    uptime_us ${whole},
    noted_us ${whole},
    compared_us ${whole},
    compared_all_us ${whole},
    compared_event ${whole},
    CONSTRAINT pk_clock PRIMARY KEY (id),
    CONSTRAINT ck_clock_one CHECK (id = 1)
)${strict}

CREATE TABLE daemon (
    id TEXT NOT NULL,
    host TEXT NOT NULL,
    pid ${whole} NOT NULL,
    version TEXT NOT NULL,
    started_us ${whole} NOT NULL,
    heartbeat_us ${whole} NOT NULL,
    stopped_us ${whole},
    config_loaded_us ${whole} NOT NULL,
    config_error TEXT,
    leads ${whole} NOT NULL,
    CONSTRAINT pk_daemon PRIMARY KEY (id),
    CONSTRAINT ck_daemon_leads CHECK (leads IN (0, 1))
)${strict}

CREATE TABLE daemon_config (
    daemon_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    packed ${bytes} NOT NULL,
    CONSTRAINT pk_daemon_config PRIMARY KEY (daemon_id)
)${strict}

CREATE TABLE quarantine (
    check_id TEXT NOT NULL,
    crashes ${whole} NOT NULL,
    until_us ${whole},
    last_crash_us ${whole} NOT NULL,
    CONSTRAINT pk_quarantine PRIMARY KEY (check_id),
    CONSTRAINT ck_quarantine_crashes CHECK (crashes >= 1)
)${strict}

CREATE TABLE warning (
    id ${serial} NOT NULL,
    series TEXT NOT NULL,
    table_name TEXT NOT NULL,
    check_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    title TEXT NOT NULL,
    title_values TEXT NOT NULL,
    began_us ${whole} NOT NULL,
    passing_us ${whole},
    passes ${whole} NOT NULL,
    ended_us ${whole},
    CONSTRAINT pk_warning PRIMARY KEY (id),
    CONSTRAINT ck_warning_kind CHECK (kind = 'quality' OR kind = 'disclosure'),
    CONSTRAINT ck_warning_severity CHECK (severity = 'info' OR severity = 'warning' OR severity = 'error' OR severity = 'critical'),
    CONSTRAINT ck_warning_passes CHECK ((passes = 0) = (passing_us IS NULL))
)${strict}

CREATE INDEX ix_warning_ended ON warning (ended_us) WHERE ended_us IS NOT NULL

CREATE UNIQUE INDEX uq_warning_lasting ON warning (check_id, series) WHERE ended_us IS NULL

CREATE TABLE transition (
    id ${serial} NOT NULL,
    incident_id ${whole},
    warning_id ${whole},
    change TEXT NOT NULL,
    recorded_us ${whole} NOT NULL,
    not_before_us ${whole} NOT NULL,
    settled_us ${whole},
    decision TEXT,
    CONSTRAINT pk_transition PRIMARY KEY (id),
    CONSTRAINT ck_transition_change CHECK (change = 'opened' OR change = 'reopened' OR change = 'escalated' OR change = 'resolved' OR change = 'flapping' OR change = 'settled' OR change = 'merged'),
    CONSTRAINT ck_transition_of_one CHECK ((incident_id IS NULL) <> (warning_id IS NULL)),
    CONSTRAINT ck_transition_decided_if_settled CHECK (settled_us IS NULL OR decision IS NOT NULL),
    CONSTRAINT fk_transition_incident_id_incident FOREIGN KEY(incident_id) REFERENCES incident (id),
    CONSTRAINT fk_transition_warning_id_warning FOREIGN KEY(warning_id) REFERENCES warning (id)
)${strict}

CREATE INDEX ix_transition_incident_id ON transition (incident_id)

CREATE INDEX ix_transition_recorded_us ON transition (recorded_us)

CREATE INDEX ix_transition_settled ON transition (settled_us) WHERE settled_us IS NOT NULL

CREATE INDEX ix_transition_warning ON transition (warning_id) WHERE warning_id IS NOT NULL

CREATE INDEX ix_transition_waiting ON transition (not_before_us, id) WHERE settled_us IS NULL

CREATE TABLE told (
    incident_id ${whole} NOT NULL,
    channel TEXT NOT NULL,
    reason TEXT NOT NULL,
    severity TEXT NOT NULL,
    episodes ${whole} NOT NULL,
    told_us ${whole} NOT NULL,
    delivery_id TEXT NOT NULL,
    CONSTRAINT pk_told PRIMARY KEY (incident_id, channel),
    CONSTRAINT ck_told_severity CHECK (severity = 'info' OR severity = 'warning' OR severity = 'error' OR severity = 'critical'),
    CONSTRAINT fk_told_incident_id_incident FOREIGN KEY(incident_id) REFERENCES incident (id)
)${strict}

CREATE TABLE external_item (
    incident_id ${whole} NOT NULL,
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    label TEXT NOT NULL,
    begun_us ${whole} NOT NULL,
    item TEXT,
    status TEXT,
    CONSTRAINT pk_external_item PRIMARY KEY (incident_id, channel),
    CONSTRAINT uq_external_item_label UNIQUE (label),
    CONSTRAINT fk_external_item_incident_id_incident FOREIGN KEY(incident_id) REFERENCES incident (id)
)${strict}

CREATE TABLE delivery (
    number ${serial} NOT NULL,
    id TEXT NOT NULL,
    channel TEXT NOT NULL,
    about TEXT,
    subject TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    state TEXT NOT NULL,
    attempts ${whole} NOT NULL,
    next_try_us ${whole} NOT NULL,
    sent_us ${whole},
    buried_us ${whole},
    error TEXT,
    holder TEXT,
    lease_until_us ${whole},
    CONSTRAINT pk_delivery PRIMARY KEY (number),
    CONSTRAINT uq_delivery_id UNIQUE (id),
    CONSTRAINT ck_delivery_subject CHECK (subject = 'incidents' OR subject = 'report' OR subject = 'operations' OR subject = 'test'),
    CONSTRAINT ck_delivery_state CHECK (state = 'waiting' OR state = 'sent' OR state = 'dead'),
    CONSTRAINT ck_delivery_sent_iff_sent CHECK ((state = 'sent') = (sent_us IS NOT NULL)),
    CONSTRAINT ck_delivery_buried_iff_dead CHECK ((state = 'dead') = (buried_us IS NOT NULL)),
    CONSTRAINT ck_delivery_attempts CHECK (attempts >= 0)
)${strict}

CREATE INDEX ix_delivery_channel_created_us ON delivery (channel, created_us)

CREATE INDEX ix_delivery_created_us ON delivery (created_us)

CREATE INDEX ix_delivery_dead ON delivery (buried_us) WHERE state = 'dead'

CREATE INDEX ix_delivery_waiting ON delivery (next_try_us, number) WHERE state = 'waiting'

CREATE INDEX ix_delivery_waiting_about ON delivery (channel, about, number) WHERE state = 'waiting'

CREATE INDEX ix_delivery_waiting_channel ON delivery (channel, number) WHERE state = 'waiting'

CREATE TABLE silence (
    id ${numbered},
    scope TEXT NOT NULL,
    name TEXT,
    starts_us ${whole} NOT NULL,
    until_us ${whole} NOT NULL,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    ended_us ${whole},
    CONSTRAINT ck_silence_scope CHECK (scope = 'all' OR scope = 'domain' OR scope = 'table'),
    CONSTRAINT ck_silence_name_unless_all CHECK ((scope = 'all') = (name IS NULL)),
    CONSTRAINT ck_silence_ends CHECK (until_us > starts_us)
)${strict}

CREATE TABLE logged_event (
    id ${numbered},
    kind TEXT NOT NULL,
    happened_us ${whole} NOT NULL,
    table_name TEXT,
    source TEXT,
    note TEXT NOT NULL,
    actor TEXT NOT NULL,
    recorded_us ${whole} NOT NULL,
    removes ${whole},
    job TEXT,
    CONSTRAINT uq_logged_event_removes UNIQUE (removes),
    CONSTRAINT ck_logged_event_kind CHECK (kind = 'deploy' OR kind = 'migration' OR kind = 'backfill' OR kind = 'configuration' OR kind = 'other' OR kind = 'removal'),
    CONSTRAINT ck_logged_event_removes_iff_removal CHECK ((kind = 'removal') = (removes IS NOT NULL)),
    CONSTRAINT ck_logged_event_scope CHECK (table_name IS NULL OR source IS NULL)
)${strict}

CREATE INDEX ix_logged_event_happened_us ON logged_event (happened_us)

CREATE TABLE disabled_channel (
    name TEXT NOT NULL,
    why TEXT NOT NULL,
    disabled_us ${whole} NOT NULL,
    CONSTRAINT pk_disabled_channel PRIMARY KEY (name)
)${strict}

CREATE TABLE class_state (
    id ${serial} NOT NULL,
    subject TEXT NOT NULL,
    digest ${bytes} NOT NULL,
    mode TEXT NOT NULL,
    token ${bytes} NOT NULL,
    rows ${whole} NOT NULL,
    version ${whole} NOT NULL,
    draft ${whole} NOT NULL,
    aborted TEXT NOT NULL,
    is_current ${whole} NOT NULL,
    updated_us ${whole} NOT NULL,
    CONSTRAINT pk_class_state PRIMARY KEY (id),
    CONSTRAINT ck_class_state_mode CHECK (mode = 'append' OR mode = 'changes'),
    CONSTRAINT ck_class_state_is_current CHECK (is_current IN (0, 1))
)${strict}

CREATE UNIQUE INDEX uq_class_state_current ON class_state (subject) WHERE is_current = 1

CREATE TABLE class_part (
    state ${whole} NOT NULL,
    name ${bytes} NOT NULL,
    rows ${whole} NOT NULL,
    CONSTRAINT pk_class_part PRIMARY KEY (state, name)
)${clustered}

CREATE TABLE class_size (
    state ${whole} NOT NULL,
    size ${whole} NOT NULL,
    classes ${whole} NOT NULL,
    CONSTRAINT pk_class_size PRIMARY KEY (state, size)
)${clustered}

CREATE TABLE class_count (
    state ${whole} NOT NULL,
    part ${bytes} NOT NULL,
    shard ${whole} NOT NULL,
    held ${bytes} NOT NULL,
    pending ${bytes} NOT NULL,
    draft ${whole} NOT NULL,
    CONSTRAINT pk_class_count PRIMARY KEY (state, part, shard)
)${strict}

CREATE TABLE closed_part (
    name TEXT NOT NULL,
    version ${whole} NOT NULL,
    digest ${bytes} NOT NULL,
    looked_us ${whole} NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_closed_part PRIMARY KEY (name)
)${strict}

CREATE TABLE release (
    id ${serial} NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    released_us ${whole} NOT NULL,
    rows ${whole} NOT NULL,
    unnamed ${whole} NOT NULL,
    digest ${bytes} NOT NULL,
    is_whole ${whole} NOT NULL,
    values_kept ${whole},
    CONSTRAINT pk_release PRIMARY KEY (id),
    CONSTRAINT uq_release_subject_name UNIQUE (subject, name),
    CONSTRAINT ck_release_is_whole CHECK (is_whole IN (0, 1))
)${strict}

CREATE TABLE released_row (
    release ${whole} NOT NULL,
    person ${bytes} NOT NULL,
    class_signature ${bytes} NOT NULL,
    copies ${whole},
    CONSTRAINT pk_released_row PRIMARY KEY (release, person, class_signature)
)${clustered}

CREATE TABLE released_value (
    release ${whole} NOT NULL,
    attribute ${bytes} NOT NULL,
    class_signature ${bytes} NOT NULL,
    value ${bytes} NOT NULL,
    copies ${whole},
    people ${whole},
    CONSTRAINT pk_released_value PRIMARY KEY (release, attribute, class_signature, value)
)${clustered}

CREATE TABLE privacy_budget (
    id ${whole} NOT NULL,
    data_set TEXT NOT NULL,
    unit TEXT NOT NULL,
    accounting TEXT NOT NULL,
    adjacency TEXT NOT NULL,
    delta TEXT,
    total ${whole} NOT NULL,
    spent ${whole} NOT NULL,
    CONSTRAINT pk_privacy_budget PRIMARY KEY (id),
    CONSTRAINT uq_privacy_budget_data_set_unit UNIQUE (data_set, unit),
    CONSTRAINT ck_privacy_budget_accounting CHECK (accounting = 'pure' OR accounting = 'zcdp'),
    CONSTRAINT ck_privacy_budget_adjacency CHECK (adjacency = 'substitute' OR adjacency = 'add-remove'),
    CONSTRAINT ck_privacy_budget_delta_iff_zcdp CHECK ((accounting = 'zcdp') = (delta IS NOT NULL)),
    CONSTRAINT ck_privacy_budget_within_total CHECK (spent >= 0 AND spent <= total)
)${strict}

CREATE TABLE ledger_entry (
    number ${whole} NOT NULL,
    kind TEXT NOT NULL,
    budget ${whole},
    request TEXT,
    nano ${whole},
    body TEXT NOT NULL,
    actor TEXT NOT NULL,
    recorded_us ${whole} NOT NULL,
    previous ${bytes} NOT NULL,
    hash ${bytes} NOT NULL,
    CONSTRAINT pk_ledger_entry PRIMARY KEY (number),
    CONSTRAINT uq_ledger_entry_previous UNIQUE (previous),
    CONSTRAINT ck_ledger_entry_kind CHECK (kind = 'created' OR kind = 'changed' OR kind = 'reserved' OR kind = 'answered' OR kind = 'resumed' OR kind = 'carried' OR kind = 'identified' OR kind = 'release' OR kind = 'adopted'),
    CONSTRAINT fk_ledger_entry_budget_privacy_budget FOREIGN KEY(budget) REFERENCES privacy_budget (id)
)${strict}

CREATE INDEX ix_ledger_entry_budget_kind_nano ON ledger_entry (budget, kind, nano)

CREATE INDEX ix_ledger_entry_request ON ledger_entry (request, number) WHERE request IS NOT NULL

CREATE UNIQUE INDEX uq_ledger_entry_answered ON ledger_entry (request) WHERE kind = 'answered'

CREATE TABLE release_event (
    id ${serial} NOT NULL,
    release TEXT NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    note TEXT NOT NULL,
    body TEXT NOT NULL,
    recorded_us ${whole} NOT NULL,
    CONSTRAINT pk_release_event PRIMARY KEY (id),
    CONSTRAINT ck_release_event_kind CHECK (kind = 'approved' OR kind = 'held' OR kind = 'exported')
)${strict}

CREATE INDEX ix_release_event_release_id ON release_event (release, id)

CREATE TABLE release_comparison (
    release TEXT NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    compared_us ${whole} NOT NULL,
    CONSTRAINT pk_release_comparison PRIMARY KEY (release)
)${strict}

CREATE TABLE web_user (
    name TEXT NOT NULL,
    password TEXT,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    CONSTRAINT pk_web_user PRIMARY KEY (name),
    CONSTRAINT ck_web_user_role CHECK (role = 'viewer' OR role = 'responder' OR role = 'owner' OR role = 'steward' OR role = 'admin' OR role = 'ask')
)${strict}

CREATE TABLE web_session (
    digest ${bytes} NOT NULL,
    name TEXT NOT NULL,
    method TEXT NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    seen_us ${whole} NOT NULL,
    expires_us ${whole} NOT NULL,
    CONSTRAINT pk_web_session PRIMARY KEY (digest),
    CONSTRAINT ck_web_session_role CHECK (role = 'viewer' OR role = 'responder' OR role = 'owner' OR role = 'steward' OR role = 'admin' OR role = 'ask')
)${strict}

CREATE INDEX ix_web_session_name ON web_session (name)

CREATE TABLE login_link (
    digest ${bytes} NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    expires_us ${whole} NOT NULL,
    CONSTRAINT pk_login_link PRIMARY KEY (digest),
    CONSTRAINT ck_login_link_role CHECK (role = 'viewer' OR role = 'responder' OR role = 'owner' OR role = 'steward' OR role = 'admin' OR role = 'ask')
)${strict}

CREATE TABLE api_token (
    name TEXT NOT NULL,
    digest ${bytes} NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    expires_us ${whole} NOT NULL,
    used_us ${whole},
    revoked_us ${whole},
    CONSTRAINT pk_api_token PRIMARY KEY (name),
    CONSTRAINT uq_api_token_digest UNIQUE (digest),
    CONSTRAINT ck_api_token_role CHECK (role = 'viewer' OR role = 'responder' OR role = 'owner' OR role = 'steward' OR role = 'admin' OR role = 'ask'),
    CONSTRAINT ck_api_token_expires CHECK (expires_us > created_us)
)${strict}

CREATE TABLE answered_request (
    digest ${bytes} NOT NULL,
    content ${bytes} NOT NULL,
    begun_us ${whole} NOT NULL,
    answer ${bytes},
    CONSTRAINT pk_answered_request PRIMARY KEY (digest)
)${strict}

CREATE TABLE status_address (
    id ${numbered},
    digest ${bytes} NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    actor TEXT NOT NULL,
    created_us ${whole} NOT NULL,
    revoked_us ${whole},
    CONSTRAINT uq_status_address_digest UNIQUE (digest),
    CONSTRAINT ck_status_address_scope CHECK (scope = 'table' OR scope = 'product')
)${strict}

CREATE TABLE name_change (
    id ${serial} NOT NULL,
    kind TEXT NOT NULL,
    old_name TEXT NOT NULL,
    new_name TEXT NOT NULL,
    actor TEXT NOT NULL,
    recorded_us ${whole} NOT NULL,
    CONSTRAINT pk_name_change PRIMARY KEY (id),
    CONSTRAINT ck_name_change_kind CHECK (kind = 'table' OR kind = 'check' OR kind = 'domain' OR kind = 'owner')
)${strict}

CREATE INDEX ix_name_change_recorded_us ON name_change (recorded_us)
