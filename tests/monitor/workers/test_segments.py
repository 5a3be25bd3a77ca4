"""Segments are measured in a worker: names and numbers come back, and values that are not shown do not."""

import sqlite3
from contextlib import closing
from dataclasses import replace

from checks import SegmentedMeasurement
from checks.volume import Volume
from monitor.scan.results import CountState
from monitor.workers import TableScanned
from tests.monitor.workers.conftest import job, target

KEY = b"a key for tests, 32 bytes long.."


def test_a_worker_names_segments_under_the_key_of_the_store(ear, shop, tmp_path):
    """Two workers give a segment the same name; another key gives it another one."""
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection, connection:
        connection.execute("INSERT INTO a VALUES (7777)")
    asked = target(shop, "a", [("v", Volume(min=1, by="id"))])
    names = []
    for key, alone in ((KEY, False), (KEY, True), (KEY[::-1], False)):
        job_ = job(replace(asked, keeper=CountState(key)), alone=alone)
        table_result = next(
            event.table_result for event in ear.run(job_) if isinstance(event, TableScanned) and event.job == job_.id
        )
        answer = table_result.measured[0].answer
        assert isinstance(answer, SegmentedMeasurement)
        assert "7777" not in repr(answer)
        assert [segment.values["rows"] for segment in answer.segments] == [1, 1, 1]
        names.append({segment.key for segment in answer.segments})
    first, second, other = names
    assert first == second
    assert not first & other
