-- Facts are never changed or removed. One statement a paragraph. INSERT OR REPLACE removes the old row without firing a
-- delete trigger, so that replacing is refused by triggers of its own.

CREATE TRIGGER incident_event_no_update BEFORE UPDATE ON incident_event
BEGIN SELECT RAISE(ABORT, 'incident events are facts: they are never changed'); END

CREATE TRIGGER incident_event_no_delete BEFORE DELETE ON incident_event
WHEN EXISTS (SELECT 1 FROM incident WHERE id = OLD.incident_id)
BEGIN SELECT RAISE(ABORT, 'incident events are facts: they leave only with their incident'); END

CREATE TRIGGER incident_event_no_replace BEFORE INSERT ON incident_event
WHEN EXISTS (SELECT 1 FROM incident_event WHERE incident_id = NEW.incident_id AND number = NEW.number)
  OR EXISTS (SELECT 1 FROM incident_event WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'incident events are facts: they are never changed'); END

CREATE TRIGGER ledger_entry_no_update BEFORE UPDATE ON ledger_entry
BEGIN SELECT RAISE(ABORT, 'entries of the ledger are facts: they are never changed or removed'); END

CREATE TRIGGER ledger_entry_no_delete BEFORE DELETE ON ledger_entry
BEGIN SELECT RAISE(ABORT, 'entries of the ledger are facts: they are never changed or removed'); END

CREATE TRIGGER ledger_entry_follows BEFORE INSERT ON ledger_entry
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM ledger_entry)
  OR NEW.previous <> coalesce((SELECT hash FROM ledger_entry ORDER BY number DESC LIMIT 1), zeroblob(32))
  OR (NEW.kind = 'answered' AND EXISTS (
    SELECT 1 FROM ledger_entry WHERE kind = 'answered' AND request = NEW.request))
BEGIN SELECT RAISE(ABORT, 'an entry of the ledger follows the last one'); END

CREATE TRIGGER privacy_budget_no_delete BEFORE DELETE ON privacy_budget
BEGIN SELECT RAISE(ABORT, 'what is spent of a budget stays spent, and a budget stays what it is'); END

CREATE TRIGGER privacy_budget_stays BEFORE UPDATE ON privacy_budget
WHEN NEW.id <> OLD.id OR NEW.data_set <> OLD.data_set OR NEW.unit <> OLD.unit OR NEW.accounting <> OLD.accounting
  OR NEW.adjacency <> OLD.adjacency OR coalesce(NEW.delta, '') <> coalesce(OLD.delta, '') OR NEW.spent < OLD.spent
BEGIN SELECT RAISE(ABORT, 'what is spent of a budget stays spent, and a budget stays what it is'); END

CREATE TRIGGER privacy_budget_no_replace BEFORE INSERT ON privacy_budget
WHEN EXISTS (SELECT 1 FROM privacy_budget WHERE id = NEW.id OR (data_set = NEW.data_set AND unit = NEW.unit))
BEGIN SELECT RAISE(ABORT, 'what is spent of a budget stays spent, and a budget stays what it is'); END

CREATE TRIGGER release_event_no_update BEFORE UPDATE ON release_event
BEGIN SELECT RAISE(ABORT, 'decisions and exports of releases are facts: they are never changed or removed'); END

CREATE TRIGGER release_event_no_delete BEFORE DELETE ON release_event
BEGIN SELECT RAISE(ABORT, 'decisions and exports of releases are facts: they are never changed or removed'); END

CREATE TRIGGER release_event_no_replace BEFORE INSERT ON release_event
WHEN EXISTS (SELECT 1 FROM release_event WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'decisions and exports of releases are facts: they are never changed or removed'); END
