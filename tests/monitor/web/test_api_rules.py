"""The rules of the API (ADR 84): problems, tags, preconditions, compression, one address per answer."""

import re
from datetime import timedelta
from http import HTTPStatus
from typing import Final

import pytest

from monitor.web.problems import WebError
from monitor.web.rate_limit import Gate
from store import StoreBusy, WebRole
from tests.monitor.web.site import Site


def test_an_error_is_a_problem_of_rfc_9457(site: Site) -> None:
    """Its type leads to the list of codes; the field it is about is named, and the value that was sent is not."""
    client = site.signed_in()
    done = client.post("/api/v1/incidents", json={"table": "orders", "title": "late", "severity": "canary-4711"})
    assert done.headers["content-type"] == "application/problem+json"
    problem = done.json()
    assert (problem["status"], problem["title"]) == (422, HTTPStatus(422).phrase)
    assert (problem["type"], problem["errors"][0]["field"]) == ("/api#request.invalid", "severity")
    assert problem["detail"] == problem["errors"][0]["message"]
    assert "canary-4711" not in done.text
    gone = client.get("/api/v1/incidents/999").json()["type"]
    assert f'id="{gone.removeprefix("/api#")}"' in client.get("/api").text


def test_what_is_limited_says_when_to_ask_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """429 and 503 have Retry-After, also where the store is busy."""
    with pytest.raises(WebError) as refused, Gate("requests", at_once=1, waiting=-1, each=1).place("ci"):
        pass
    assert (refused.value.status, refused.value.headers) == (503, {"retry-after": "2"})

    def busy() -> None:
        raise StoreBusy("somebody else writes")

    client = site.signed_in()
    monkeypatch.setattr(site.store, "reading", busy)
    done = client.get("/api/v1/incidents")
    assert (done.status_code, done.headers["retry-after"]) == (503, "2")


def test_a_read_that_is_known_is_not_sent_again(site: Site) -> None:
    """When it was read is no change of it; a new incident is, and so is a change of the one that was read."""
    number = site.incident()
    client = site.client(authorization=f"Bearer {site.token(WebRole.RESPONDER)}")
    for path in ("/api/v1/incidents", f"/api/v1/incidents/{number}"):
        first = client.get(path)
        assert first.headers["cache-control"] == "private, no-cache"
        etag = first.headers["etag"]
        for header in (etag, f'"other", {etag}', "*", etag.removeprefix("W/")):
            again = client.get(path, headers={"if-none-match": header})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        client.post(f"/api/v1/incidents/{number}/comment", json={"text": "looked at it"})
        site.incident(f"another beside {path}")
        changed = client.get(path, headers={"if-none-match": etag})
        assert (changed.status_code, changed.headers["etag"] == etag) == (200, False)


def test_a_write_on_what_was_not_seen_is_refused(site: Site) -> None:
    """If-Match takes the tag of the read, whatever its cost is by now; another version is 412 with what there is."""
    number = site.incident()
    client = site.signed_in()
    path = f"/api/v1/incidents/{number}"
    etag = client.get(path).headers["etag"]
    assert client.post(f"{path}/ack", headers={"if-match": etag}).status_code == 200
    late = client.post(f"{path}/resolve", json={"resolution": "fixed"}, headers={"if-match": etag})
    assert (late.status_code, late.headers["content-type"]) == (412, "application/problem+json")
    assert (late.json()["state"], late.json()["version"]) == ("acknowledged", 2)
    assert client.post(f"{path}/comment", json={"text": "x"}, headers={"if-match": "late"}).status_code == 412
    assert client.post(f"{path}/comment", json={"text": "x"}, headers={"if-match": "*"}).status_code == 200
    assert client.post("/api/v1/incidents/999/ack", headers={"if-match": etag}).status_code == 404
    silence = {"table": "orders", "for": "2h", "reason": "planned"}
    assert client.post("/api/v1/silences", json=silence, headers={"if-match": etag}).status_code == 412
    assert len(site.actors(number)) == 3


def test_what_is_large_is_compressed_for_who_takes_it(site: Site) -> None:
    """By gzip, with Vary; not for who refuses it, nor where the size of an answer would tell something."""
    for number in range(5):
        site.incident(f"number {number}")
    client = site.signed_in()
    for path in ("/api/v1/incidents", "/", "/static/tablewatch.css"):
        plain = client.get(path, headers={"accept-encoding": "gzip;q=0, br"})
        small = client.get(path, headers={"accept-encoding": "br, gzip;q=0.5"})
        assert "content-encoding" not in plain.headers
        assert (small.headers["content-encoding"], small.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert int(small.headers["content-length"]) * 2 < len(plain.content)
    assert "content-encoding" not in client.get("/api/v1/ask", headers={"accept-encoding": "gzip"}).headers


def test_one_answer_has_one_address(site: Site) -> None:
    """`.json` of a page leads to the API, unless a table has that name; what was made says where it is."""
    client = site.signed_in()
    assert client.get("/tables/orders.json").headers["location"] == "/api/v1/tables/orders"
    made = client.post("/api/v1/incidents", json={"table": "orders", "title": "late"})
    assert client.get(made.headers["location"]).json()["id"] == made.json()["id"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("incidents/{}/resolve", {"resolution": "fixed", "force": 0}),
        ("incidents/{}/ack", {"if_version": "1"}),
        ("incidents?size=", None),
        ("downtime?start=", None),
        ("downtime?start=86400", None),
        ("downtime?as_of=1700000000", None),
    ],
)
def test_values_are_of_the_type_that_the_document_says(site: Site, path: str, body: object) -> None:
    """Nothing is guessed from a value of another type, or from none."""
    client = site.signed_in()
    address = f"/api/v1/{path.format(site.incident())}"
    done = client.get(address) if body is None else client.post(address, json=body)
    assert done.status_code == 422


def test_the_document_says_what_a_client_has_to_know(site: Site) -> None:
    """Where the server is, what an address is about, and how times, lengths and places in lists are written."""
    document = site.signed_in().get("/api/v1/openapi.json").json()
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    tags = {tag["name"] for tag in document["tags"]}
    assert document["servers"] == [{"url": "/"}]
    assert all(set(operation["tags"]) <= tags for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    snooze = document["components"]["schemas"]["SnoozeBody"]["properties"]
    for name, good, bad in (("for", "1d12h", "soon"), ("until", "2026-11-11T10:10Z", "yesterday")):
        pattern = re.compile(next(part["pattern"] for part in snooze[name]["anyOf"] if "pattern" in part))
        assert (pattern.search(good) is not None, pattern.search(bad)) == (True, None)
    listed = {item["name"]: item["schema"] for item in document["paths"]["/api/v1/incidents"]["get"]["parameters"]}
    assert "pattern" in str(listed["cursor"])


class TestIdempotencyKey:
    """A write that is sent again."""

    KEY: Final = {"idempotency-key": '"8e03978e-40d5"'}

    def test_it_is_carried_out_once_and_answered_alike(self, site: Site) -> None:
        """Also by another process; a key is of its sender, and forgotten after a day."""
        number = site.incident()
        path, body = f"/api/v1/incidents/{number}/comment", {"text": "looked at it"}
        first = site.signed_in().post(path, json=body, headers=self.KEY)
        site.clock.advance(timedelta(hours=1))
        again = site.signed_in().post(path, json=body, headers=self.KEY)
        assert (again.status_code, again.json()) == (first.status_code, first.json())
        assert (len(site.actors(number)), again.headers["idempotent-replayed"]) == (2, "true")
        assert site.signed_in(name="bob").post(path, json=body, headers=self.KEY).status_code == 200
        site.clock.advance(timedelta(days=1))
        assert site.signed_in().post(path, json=body, headers=self.KEY).status_code == 200
        assert len(site.actors(number)) == 4

    def test_what_was_made_is_named_again(self, site: Site) -> None:
        """201 and its address, as the first time."""
        body = {"table": "orders", "title": "late"}
        first, again = (site.signed_in().post("/api/v1/incidents", json=body, headers=self.KEY) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.headers["location"] == again.headers["location"]

    def test_another_request_under_it_is_refused(self, site: Site) -> None:
        """422, as the draft of the IETF says; the order of keys in JSON is no difference, a refusal uses no key up."""
        number = site.incident()
        client, path = site.signed_in(), f"/api/v1/incidents/{number}"
        assert client.post(f"{path}/reopen", json={}, headers=self.KEY).status_code == 409
        done = {"resolution": "fixed", "cause": "the unit"}
        assert client.post(f"{path}/resolve", json=done, headers=self.KEY).status_code == 200
        assert client.post(f"{path}/resolve", json=dict(reversed(done.items())), headers=self.KEY).status_code == 200
        other = client.post(f"{path}/resolve", json={"resolution": "no-action"}, headers=self.KEY)
        assert (other.status_code, other.json()["type"]) == (422, "/api#request.key_reused")
        assert len(site.actors(number)) == 2

    def test_one_that_still_runs_is_a_conflict(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        """It neither waits for it nor acts; after an interruption, what was done is not known."""
        number = site.incident()
        client, path = site.signed_in(), f"/api/v1/incidents/{number}/ack"
        answers = []

        def interrupted(*_: object) -> None:
            answers.append(client.post(path, headers=self.KEY).json()["type"])
            raise KeyError

        with monkeypatch.context() as patched:
            patched.setattr("monitor.triage.incident_editor.IncidentEditor.acknowledge", interrupted)
            assert client.post(path, headers=self.KEY).status_code == 500
        answers.append(client.post(path, headers=self.KEY).json()["type"])
        assert answers == ["/api#request.in_progress", "/api#request.interrupted"]

    def test_a_key_without_quotation_marks_is_the_same(self, site: Site) -> None:
        """Many clients send it so."""
        number = site.incident()
        for header in ('"8e03978e-40d5"', "8e03978e-40d5"):
            site.signed_in().post(f"/api/v1/incidents/{number}/ack", headers={"idempotency-key": header})
        assert len(site.actors(number)) == 2

    @pytest.mark.parametrize("header", ['""', '"a" "b"', '"a', "x" * 151])
    def test_a_key_is_a_string_of_structured_fields(self, site: Site, header: str) -> None:
        """400, and nothing is done."""
        number = site.incident()
        done = site.signed_in().post(f"/api/v1/incidents/{number}/ack", headers={"idempotency-key": header})
        assert (done.status_code, len(site.actors(number))) == (400, 1)

    def test_it_is_deleted_by_retention(self, site: Site) -> None:
        """After a day."""
        site.signed_in().post(f"/api/v1/incidents/{site.incident()}/ack", headers=self.KEY)
        long = timedelta(days=400)
        pruned = []
        for hours in (23, 2):
            now = site.clock.advance(timedelta(hours=hours))
            pruned.append(site.store.prune(keep_measurements=long, keep_incidents=long, now=now).answered_requests)
        assert pruned == [0, 1]
