"""Who gets in: by a password, a link, a proxy, a session; and who does not any more."""

import os
import re
import sys
import threading
from datetime import timedelta
from html import unescape

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from monitor.config.web_model import cookie_name
from monitor.verbs import account_secrets
from monitor.verbs.account_secrets import (
    ABSOLUTE,
    IDLE,
    LINK_LIFE,
    SHORTEST,
    hash_password,
    is_password,
    make_link,
)
from monitor.web.credentials import client_of
from monitor.web.rate_limit import TryLimit
from monitor.web.sign_in import local_path
from store import Grant, WebRole, WebUser
from tests.monitor.web.site import Site
from tests.tiers import examples

PASSWORD = "a long password of mia"  # noqa: S105 - of a user of these tests
SECRET = "0123456789abcdef"  # noqa: S105 - of a proxy of these tests
PROXY = {"x-forwarded-user": "bob", "x-tablewatch-proxy-secret": SECRET}


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux only")
def test_hashing_gives_way_to_requests() -> None:
    """The thread that computes a hash, and with it those of argon2, has a lower priority than the event loop."""
    assert not is_password("wrong", None)
    (hashing,) = [thread for thread in threading.enumerate() if thread.name.startswith("hashing")]
    own, other = (os.getpriority(os.PRIO_PROCESS, number or 0) for number in (0, hashing.native_id))
    assert other == min(own + 10, 19)


def test_passwords_are_hashed_as_rfc_9106_says() -> None:
    """64 MiB, three times, four lanes; a name that is not there takes as long."""
    assert extract_parameters(hash_password(PASSWORD)) == RFC_9106_LOW_MEMORY
    assert extract_parameters(account_secrets._NOBODY) == RFC_9106_LOW_MEMORY


_QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
def site(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return the application; its hashes of passwords cost little, since a test makes dozens of them."""
    monkeypatch.setattr(account_secrets, "_HASHER", _QUICK)
    monkeypatch.setattr(account_secrets, "_NOBODY", _QUICK.hash("of no user"))
    return site


@pytest.fixture
def web_section() -> str:
    """Return a section with each way to sign in."""
    return f"""
web:
  passwords: true
  client_header: X-Forwarded-For
  proxy:
    header: X-Forwarded-User
    secret_header: X-Tablewatch-Proxy-Secret
    trusted: [10.0.20.0/24]
    secret: {SECRET}
"""


def _add_user(site: Site, *, role: WebRole = WebRole.RESPONDER, password: str | None = PASSWORD) -> None:
    hashed = None if password is None else hash_password(password)
    with site.store.writing() as tx:
        tx.accounts.add_user(WebUser("mia", Grant(role), hashed, site.clock.now()))


def test_a_password_signs_in(site: Site) -> None:
    """The right name and password begin a session, whose cookie no script can read, and lead to the page asked for."""
    _add_user(site)
    client = site.client()
    assert client.get("/incidents").headers["location"] == "/sign-in?next=/incidents"
    done = client.post("/sign-in", data={"name": "mia", "password": PASSWORD, "next": "/incidents"})
    assert (done.status_code, done.headers["location"]) == (303, "/incidents")
    cookie = done.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    page = client.get("/incidents")
    assert page.status_code == 200
    assert "mia · responder" in page.text


def test_a_wrong_password_shows_the_form_again(site: Site) -> None:
    """The name and the way on are kept, the password is not, and the focus is on it."""
    _add_user(site)
    answer = site.client().post("/sign-in", data={"name": "mia", "password": "guess-1", "next": "/tables"})
    assert answer.status_code == 401
    assert 'value="mia"' in answer.text
    assert "guess-1" not in answer.text
    assert 'name="next" value="/tables"' in answer.text
    assert re.search(r'aria-describedby="refused-password" autofocus name="password"', answer.text)


@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ("/reports?scope=owner%3Aa%26b%2Bc", "/reports?scope=owner%3Aa%26b%2Bc"),
        ("/incidents?state=open&table=orders", "/incidents?state=open&table=orders"),
        ("/incidents?table=" + "x" * 490, "/incidents"),
        ("/?next=//elsewhere.example", "/?next=//elsewhere.example"),
    ],
)
def test_a_sign_in_leads_to_the_page_with_its_choices(site: Site, asked: str, reached: str) -> None:
    """The query of the page is kept, so that a link to one scope does not show everything; a long one is left out."""
    _add_user(site)
    client = site.client()
    page = client.get(client.get(asked).headers["location"]).text
    field = re.search(r'name="next" value="([^"]*)"', page)
    assert field is not None
    done = client.post("/sign-in", data={"name": "mia", "password": PASSWORD, "next": unescape(field[1])})
    assert (done.status_code, done.headers["location"]) == (303, reached)


def test_a_browser_is_led_to_sign_in_from_a_kept_page(site: Site) -> None:
    """A link in a mail to a report leads there after the sign-in; a file is refused to a program with the status.

    A report is a page of the site as any other, and leads every client to the sign-in.
    """
    client, browser = site.client(), {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    asked = client.get("/reports/2026-W46?scope=domain:sales", headers=browser)
    assert asked.headers["location"] == "/sign-in?next=/reports/2026-W46%3Fscope%3Ddomain%3Asales"
    assert client.get("/reports/2026-W46").status_code == 303
    assert client.get("/releases/extract/record").status_code == 401
    assert client.get("/api/v1/incidents", headers=browser).status_code == 401


@pytest.mark.parametrize(("name", "password"), [("mia", "a wrong password"), ("nobody", PASSWORD), ("mia", "x" * 999)])
def test_a_wrong_name_or_password_does_not(site: Site, name: str, password: str) -> None:
    """One answer for both, so that it does not reveal which names there are."""
    _add_user(site)
    done = site.client().post("/sign-in", data={"name": name, "password": password})
    assert done.status_code == 401
    assert "the name or the password is wrong" in done.text
    assert "set-cookie" not in done.headers


def test_a_user_without_a_password_has_none(site: Site) -> None:
    """A user of the proxy cannot sign in by a password, not even an empty one."""
    _add_user(site, password=None)
    for password in ("", "None", PASSWORD):
        assert site.client().post("/sign-in", data={"name": "mia", "password": password}).status_code in {401, 422}


def test_many_wrong_passwords_are_slowed_down(site: Site) -> None:
    """After ten failures even the right password waits; later it is taken."""
    _add_user(site)
    client = site.client()
    for _ in range(10):
        assert client.post("/sign-in", data={"name": "mia", "password": "wrong"}).status_code == 401
    assert client.post("/sign-in", data={"name": "mia", "password": PASSWORD}).status_code == 429
    site.clock.advance(timedelta(minutes=16))
    assert client.post("/sign-in", data={"name": "mia", "password": PASSWORD}).status_code == 303


@pytest.mark.parametrize(("address", "code"), [("127.0.0.1", 303), ("::1", 303), ("192.0.2.7", 429)])
def test_one_who_guesses_behind_a_proxy_locks_nobody_else_out(site: Site, address: str, code: int) -> None:
    """A loopback address is that of all users behind a reverse proxy, so its failures count for the name alone."""
    _add_user(site)
    client = site.client(peer=address)
    for _ in range(10):
        assert client.post("/sign-in", data={"name": "eve", "password": "wrong"}).status_code == 401
    assert client.post("/sign-in", data={"name": "mia", "password": PASSWORD}).status_code == code


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        ("192.0.2.7", None, "192.0.2.7"),
        ("192.0.2.7", "198.51.100.7", "192.0.2.7"),
        ("127.0.0.1", None, None),
        ("127.0.0.1", "unknown", None),
        ("10.0.20.11", None, None),
        ("10.0.20.11", "198.51.100.7, 10.0.20.12", "198.51.100.7"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("::1", "::ffff:198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "2001:db8:1:2::7", "2001:db8:1:2::/64"),
    ],
)
def test_behind_a_proxy_failures_count_for_the_address_that_it_names(
    site: Site, peer: str, forwarded: str | None, counted: str | None
) -> None:
    """The last address that is no proxy's counts, of IPv6 its network; a client that is no proxy names no other."""
    headers = [] if forwarded is None else [(b"x-forwarded-for", forwarded.encode())]
    request = Request({"type": "http", "client": (peer, 50_000), "headers": headers})
    assert client_of(site.project.config.web, request) == counted


def test_one_who_guesses_behind_a_proxy_that_names_clients_waits(site: Site) -> None:
    """Names are changed with each guess; another client of the same proxy signs in."""
    _add_user(site)
    client, other = (site.client(**{"x-forwarded-for": f"198.51.100.{number}"}) for number in (7, 8))
    for number in range(10):
        assert client.post("/sign-in", data={"name": f"eve{number}", "password": "wrong"}).status_code == 401
    assert client.post("/sign-in", data={"name": "mia", "password": PASSWORD}).status_code == 429
    assert other.post("/sign-in", data={"name": "mia", "password": PASSWORD}).status_code == 303


def test_the_limit_counts_names_and_addresses_apart_and_forgets() -> None:
    """A name or an address is refused by its own failures, with a Retry-After; the number of keys is bounded."""
    now = [0.0]
    limit = TryLimit(lambda: now[0], most=2, window_s=60, entries=2)
    assert limit.begin("name a", "address x") is None
    now[0] = 20
    assert limit.begin("name a", "address x") is None
    assert limit.begin("name b", "address x") == 41
    assert limit.begin("name b") is None
    now[0] = 61
    assert limit.begin("address x") is None


def test_a_try_that_succeeds_is_no_failure() -> None:
    """It is taken back: the same user may sign in as often as wanted, and earlier failures stay counted."""
    limit = TryLimit(lambda: 0.0, most=2)
    for _ in range(5):
        assert limit.begin("name a") is None
        limit.take_back("name a")
    assert limit.begin("name a") is None
    assert limit.begin("name a") is None
    assert limit.begin("name a") == 901


@given(most=st.integers(1, 4), steps=st.lists(st.sampled_from(["begin", "succeed", "fail"]), max_size=40))
@settings(max_examples=examples(200))
def test_tries_in_flight_and_failures_are_never_more_than_the_limit(most: int, steps: list[str]) -> None:
    """Whatever the order in which tries begin and end: those that run and those that failed are `most` at most."""
    limit, running, failed = TryLimit(lambda: 0.0, most=most), 0, 0
    for step in steps:
        if step == "begin":
            allowed = limit.begin("name a") is None
            assert allowed == (running + failed < most)
            running += allowed
        elif running:
            running -= 1
            failed += step == "fail"
            if step == "succeed":
                limit.take_back("name a")


def test_a_short_password_is_refused() -> None:
    """Length is what makes a password hard to guess."""
    with pytest.raises(ValueError, match=f"{SHORTEST} to"):
        hash_password("x" * (SHORTEST - 1))
    assert not is_password("x", None)


def test_a_link_signs_in_once_when_its_button_is_pressed(site: Site) -> None:
    """Opening the link uses nothing up; the button signs in; a second time it does not."""
    with site.store.writing() as tx:
        secret = make_link(tx, "eve", Grant(WebRole.VIEWER), site.clock.now())
    client = site.client()
    for _ in range(2):
        assert secret in client.get("/sign-in/link", params={"token": secret}).text
    assert client.post("/sign-in/link", data={"token": secret}).status_code == 303
    assert client.get("/").status_code == 200
    assert site.client().post("/sign-in/link", data={"token": secret}).status_code == 401


def test_a_link_holds_for_ten_minutes(site: Site) -> None:
    """After that it signs no user in."""
    with site.store.writing() as tx:
        secret = make_link(tx, "eve", Grant(WebRole.VIEWER), site.clock.now())
    site.clock.advance(LINK_LIFE)
    assert site.client().post("/sign-in/link", data={"token": secret}).status_code == 401


def test_a_session_id_from_elsewhere_is_never_taken_over(site: Site) -> None:
    """Session fixation: signing in makes a new id and ends the session the browser came with."""
    _add_user(site)
    name = cookie_name(site.project.config.web)
    client = site.client()
    client.cookies.set(name, "chosen-by-an-attacker")
    done = client.post("/sign-in", data={"name": "mia", "password": PASSWORD})
    assert "chosen-by-an-attacker" not in done.headers["set-cookie"]
    other = site.client()
    other.cookies.set(name, "chosen-by-an-attacker")
    assert other.get("/").status_code == 303
    earlier = site.signed_in()
    secret = earlier.cookies[name]
    assert earlier.post("/sign-in", data={"name": "mia", "password": PASSWORD}).status_code == 303
    other.cookies.set(name, secret)
    assert other.get("/").status_code == 303


def test_signing_out_ends_the_session_on_the_server(site: Site) -> None:
    """A copy of the cookie is worth nothing afterwards."""
    client, copy = site.signed_in(), site.client()
    name = cookie_name(site.project.config.web)
    copy.cookies.set(name, client.cookies[name])
    assert copy.get("/").status_code == 200
    assert client.post("/sign-out").status_code == 303
    assert copy.get("/").status_code == 303


def test_a_removed_user_is_signed_out(site: Site) -> None:
    """Sessions end with the account."""
    _add_user(site)
    client = site.signed_in(name="mia")
    assert client.get("/").status_code == 200
    with site.store.writing() as tx:
        tx.accounts.remove_user("mia")
    assert client.get("/").status_code == 303


def test_a_session_ends_when_idle_and_after_a_week(site: Site) -> None:
    """Use keeps it alive for twelve hours more each time, but not beyond seven days."""
    client, idle = site.signed_in(), site.signed_in()
    site.clock.advance(IDLE)
    assert idle.get("/").status_code == 303
    used = site.signed_in()
    began = site.clock.now()
    while site.clock.now() < began + ABSOLUTE - timedelta(hours=11):
        site.clock.advance(timedelta(hours=11))
        assert used.get("/").status_code == 200
    site.clock.advance(timedelta(hours=11))
    assert used.get("/").status_code == 303
    assert client.get("/").status_code == 303


def test_a_trusted_proxy_signs_people_in(site: Site) -> None:
    """A user the store does not know may read; a user of the store has their role."""
    client = site.client(peer="10.0.20.11", **PROXY)
    page = client.get("/")
    assert page.status_code == 200
    assert "bob · viewer" in page.text
    number = site.incident()
    assert client.post(f"/incidents/{number}/ack", data={}).status_code == 403
    _add_user(site, password=None)
    known = site.client(peer="10.0.20.11", **{**PROXY, "x-forwarded-user": "mia"})
    assert known.post(f"/incidents/{number}/ack", data={"if_version": "1"}).status_code == 303
    assert site.actors(number)[-1] == "mia (proxy)"


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("127.0.0.1", PROXY),
        ("10.0.21.11", PROXY),
        ("10.0.20.11", {"x-forwarded-user": "bob"}),
        ("10.0.20.11", {**PROXY, "x-tablewatch-proxy-secret": "0123456789abcdeg"}),
        ("10.0.20.11", {**PROXY, "x-forwarded-user": "bob, mia"}),
        ("testclient", PROXY),
    ],
)
def test_only_the_proxy_may_send_its_header(site: Site, peer: str, headers: dict[str, str]) -> None:
    """Trust goes by the socket and the secret, never by what a header says; a session does not help either."""
    client = site.client(peer=peer, **headers)
    assert client.get("/").status_code == 403
    assert client.get("/", headers={"x-forwarded-for": "10.0.20.11"}).status_code == 403
    name = cookie_name(site.project.config.web)
    client.cookies.set(name, site.signed_in().cookies[name])
    assert client.get("/").status_code == 403


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "https://evil.example", "evil", "/a\nb"])
def test_signing_in_never_leads_elsewhere(path: str) -> None:
    """An address of another site becomes the first page."""
    assert local_path(path) == "/"


class TestWithoutPasswords:
    """The configuration has no section `web`."""

    @pytest.fixture
    def web_section(self) -> str:
        """Return none."""
        return ""

    def test_passwords_sign_in_only_where_configured(self, site: Site) -> None:
        """Without `web.passwords` there is no form, and a password is refused."""
        _add_user(site)
        client = site.client()
        assert 'type="password"' not in client.get("/sign-in").text
        assert client.post("/sign-in", data={"name": "mia", "password": PASSWORD}).status_code == 403
