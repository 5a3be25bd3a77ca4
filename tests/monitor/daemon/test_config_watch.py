"""A changed configuration is noticed once it is written to its end, and in every file that belongs to it."""

import pytest

from monitor.config import load
from monitor.daemon.config_reload import ConfigWatch, ReloadRefused

_HEAD = "version: 1\nproject: watched\nsources: {shop: {url: 'sqlite:///shop.sqlite'}}\ntables:\n"
_TABLE = "  - {name: NAME, source: shop, schedule: every 1h, checks: [{type: not_null, columns: [id]}]}\n"
_ORDERS, _MORE = _TABLE.replace("NAME", "orders"), _TABLE.replace("NAME", "more")


@pytest.fixture
def file(tmp_path):
    """Return a configuration of two tables."""
    path = tmp_path / "tablewatch.yaml"
    path.write_text(_HEAD + _ORDERS + _MORE, encoding="utf-8")
    return path


def test_a_file_that_is_being_written_is_not_read_half(file):
    """The beginning of a file may be a whole configuration, of fewer tables: their incidents would be closed."""
    watch = ConfigWatch(file, load(file))
    assert not watch.has_changed()
    with file.open("w", encoding="utf-8") as writer:
        writer.write(_HEAD + _ORDERS)
        writer.flush()
        assert not watch.has_changed()
        writer.write(_MORE)
        writer.flush()
        assert not watch.has_changed()
        writer.write(_TABLE.replace("NAME", "third"))
    assert not watch.has_changed()
    assert watch.has_changed()
    assert len(watch.reload().config.tables) == 3
    assert not watch.has_changed()


def test_a_file_that_is_written_again_before_it_is_looked_at_is_read_once_it_rests(file):
    """Back to what it was is a change too, if its date says so; then nothing is different."""
    watch = ConfigWatch(file, load(file))
    text = file.read_text(encoding="utf-8")
    file.write_text(_HEAD, encoding="utf-8")
    assert not watch.has_changed()
    draft = file.with_name("draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)
    assert [watch.has_changed() for _ in range(3)] == [False, True, False]
    assert watch.reload() is None


def test_what_changes_while_the_daemon_starts_is_noticed(file):
    """Between reading the configuration and watching it lie the opening of the store, and seconds."""
    loaded = load(file)
    file.write_text(_HEAD + _ORDERS, encoding="utf-8")
    watch = ConfigWatch(file, loaded)
    assert watch.has_changed()
    assert len(watch.reload().config.tables) == 1


def test_the_files_of_a_folder_are_watched_those_of_a_refused_configuration_too(tmp_path):
    """A new file that is wrong is watched until it is right; what is no configuration is not looked at."""
    (tmp_path / "main.yaml").write_text(_HEAD + _ORDERS, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    watch = ConfigWatch(tmp_path, load(tmp_path))
    (tmp_path / ".git" / "index").write_text("busy", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("busy", encoding="utf-8")
    assert [watch.has_changed() for _ in range(2)] == [False, False]
    new = tmp_path / "domain" / "new.yaml"
    new.parent.mkdir()
    new.write_text("tables: 7\n", encoding="utf-8")
    assert [watch.has_changed() for _ in range(2)] == [False, True]
    with pytest.raises(ReloadRefused, match=r"new\.yaml"):
        watch.reload()
    new.write_text("tables:\n" + _MORE, encoding="utf-8")
    assert [watch.has_changed() for _ in range(2)] == [False, True]
    assert len(watch.reload().config.tables) == 2


def test_a_configuration_that_is_taken_away_is_refused(file):
    """The old one stays in use, and the same one is no change when it is back."""
    watch = ConfigWatch(file, load(file))
    text = file.read_text(encoding="utf-8")
    file.unlink()
    assert [watch.has_changed() for _ in range(2)] == [False, True]
    with pytest.raises(ReloadRefused, match="does not exist"):
        watch.reload()
    file.write_text(text, encoding="utf-8")
    assert [watch.has_changed() for _ in range(2)] == [False, True]
    assert watch.reload() is None
