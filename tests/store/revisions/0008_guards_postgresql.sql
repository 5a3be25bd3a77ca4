-- Facts are never changed or removed. One statement a paragraph.

CREATE FUNCTION incident_event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF NOT EXISTS (SELECT 1 FROM incident WHERE id = OLD.incident_id) THEN
      RETURN OLD;
    END IF;
    RAISE EXCEPTION 'incident events are facts: they leave only with their incident'
      USING ERRCODE = 'restrict_violation';
  END IF;
  RAISE EXCEPTION 'incident events are facts: they are never changed' USING ERRCODE = 'restrict_violation';
END $$

CREATE TRIGGER incident_event_guard BEFORE UPDATE OR DELETE ON incident_event
FOR EACH ROW EXECUTE FUNCTION incident_event_refuse()

CREATE TRIGGER incident_event_no_truncate BEFORE TRUNCATE ON incident_event
FOR EACH STATEMENT EXECUTE FUNCTION incident_event_refuse()

CREATE FUNCTION ledger_entry_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'entries of the ledger are facts: they are never changed or removed'
    USING ERRCODE = 'restrict_violation';
END $$

CREATE FUNCTION ledger_entry_refuse_stray() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM ledger_entry)
    OR NEW.previous <> coalesce(
      (SELECT hash FROM ledger_entry ORDER BY number DESC LIMIT 1), decode(repeat('00', 32), 'hex'))
    OR (NEW.kind = 'answered' AND EXISTS (
      SELECT 1 FROM ledger_entry WHERE kind = 'answered' AND request = NEW.request))
  THEN
    RAISE EXCEPTION 'an entry of the ledger follows the last one' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$

CREATE TRIGGER ledger_entry_guard BEFORE UPDATE OR DELETE ON ledger_entry
FOR EACH ROW EXECUTE FUNCTION ledger_entry_refuse()

CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON ledger_entry
FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_refuse()

CREATE TRIGGER ledger_entry_follows BEFORE INSERT ON ledger_entry
FOR EACH ROW EXECUTE FUNCTION ledger_entry_refuse_stray()

CREATE FUNCTION privacy_budget_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'what is spent of a budget stays spent, and a budget stays what it is'
    USING ERRCODE = 'restrict_violation';
END $$

CREATE FUNCTION privacy_budget_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.id <> OLD.id OR NEW.data_set <> OLD.data_set OR NEW.unit <> OLD.unit OR NEW.accounting <> OLD.accounting
    OR NEW.adjacency <> OLD.adjacency OR coalesce(NEW.delta, '') <> coalesce(OLD.delta, '') OR NEW.spent < OLD.spent
  THEN
    RAISE EXCEPTION 'what is spent of a budget stays spent, and a budget stays what it is'
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END $$

CREATE TRIGGER privacy_budget_stays BEFORE UPDATE ON privacy_budget
FOR EACH ROW EXECUTE FUNCTION privacy_budget_refuse_change()

CREATE TRIGGER privacy_budget_no_delete BEFORE DELETE ON privacy_budget
FOR EACH ROW EXECUTE FUNCTION privacy_budget_refuse()

CREATE TRIGGER privacy_budget_no_truncate BEFORE TRUNCATE ON privacy_budget
FOR EACH STATEMENT EXECUTE FUNCTION privacy_budget_refuse()

CREATE FUNCTION release_event_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'decisions and exports of releases are facts: they are never changed or removed'
    USING ERRCODE = 'restrict_violation';
END $$

CREATE TRIGGER release_event_guard BEFORE UPDATE OR DELETE ON release_event
FOR EACH ROW EXECUTE FUNCTION release_event_refuse()

CREATE TRIGGER release_event_no_truncate BEFORE TRUNCATE ON release_event
FOR EACH STATEMENT EXECUTE FUNCTION release_event_refuse()
