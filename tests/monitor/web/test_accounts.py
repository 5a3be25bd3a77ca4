"""Accounts over HTTP: administrators manage all of them, every user their own password and sessions."""

import pytest

from monitor.verbs.account_secrets import hash_password
from store import Grant, WebRole, WebUser
from tests.monitor.web.site import Site

OLD, NEW = "a long password of mia", "another long password"


@pytest.fixture
def web_section() -> str:
    """Return a section with passwords."""
    return "web: {passwords: true}\n"


@pytest.fixture
def user_mia(site: Site) -> None:
    """Add a user with a password."""
    with site.store.writing() as tx:
        tx.accounts.add_user(WebUser("mia", Grant(WebRole.VIEWER), hash_password(OLD), site.clock.now()))


def _signs_in(site: Site, password: str) -> bool:
    return site.client().post("/sign-in", data={"name": "mia", "password": password}).status_code == 303


def test_an_administrator_adds_changes_and_removes_a_user(site: Site) -> None:
    """By form and by the API; each change of a role ends the sessions of the user, and no answer has a password."""
    admin = site.signed_in(name="ann")
    form = {"name": "mia", "role": "owner", "owner": ["desk", "crew"], "password": OLD}
    assert admin.post("/accounts/users", data=form).headers["location"] == "/account#users"
    assert _signs_in(site, OLD)
    (user,) = admin.get("/api/v1/accounts").json()["users"]
    assert (user["name"], user["role"], user["owners"], user["password"]) == ("mia", "owner", ["desk", "crew"], True)
    page = admin.get("/account").text
    assert "owner (desk, crew)" in page
    assert "argon2" not in page + admin.get("/api/v1/accounts").text
    session = site.signed_in(WebRole.OWNER, owners=("desk",))
    changed = admin.post("/api/v1/accounts/users/mia/change", json={"role": "viewer"})
    assert (changed.status_code, changed.json()["role"], changed.json()["owners"]) == (200, "viewer", [])
    assert session.get("/account").status_code == 303
    assert admin.post("/accounts/users/mia/remove").status_code == 303
    assert not _signs_in(site, OLD)
    assert admin.post("/accounts/users/mia/remove").status_code == 404


@pytest.mark.usefixtures("user_mia")
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"name": "a b"}, 422, "is no name"),
        ({"name": "mia"}, 409, "is in the store"),
        ({"name": "bob", "role": "owner"}, 422, "whose tables"),
        ({"name": "bob", "owner": ["dsk"]}, 404, "did you mean 'desk'"),
        ({"name": "bob", "password": "short"}, 422, "12 to"),
        ({"name": "bob", "role": "king"}, 422, "role"),
    ],
)
def test_what_is_no_user(site: Site, body: dict[str, object], status: int, words: str) -> None:
    """The API says why, the form comes back with what was sent but for the password."""
    admin = site.signed_in(name="ann")
    refused = admin.post("/api/v1/accounts/users", json=body)
    assert (refused.status_code, words in refused.text) == (422 if status == 404 else status, True)
    form = admin.post("/accounts/users", data=body)
    assert "<title>▲" in form.text
    assert 'value="short"' not in form.text


@pytest.mark.usefixtures("user_mia")
def test_people_change_their_own_password(site: Site) -> None:
    """With the present one; their other sessions end and this one lasts. No other user's can be changed."""
    here, elsewhere = site.signed_in(WebRole.VIEWER), site.signed_in(WebRole.VIEWER)
    path = "/accounts/users/mia/password"
    wrong = here.post(path, data={"present": "not the password", "password": NEW})
    assert (wrong.status_code, "the present password is wrong" in wrong.text) == (422, True)
    assert here.post("/accounts/users/ann/password", data={"password": NEW}).status_code == 403
    assert here.post(path, data={"present": OLD, "password": NEW}).headers["location"] == "/account#changed"
    assert here.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 303
    assert (_signs_in(site, OLD), _signs_in(site, NEW)) == (False, True)


@pytest.mark.usefixtures("user_mia")
def test_wrong_present_passwords_are_counted(site: Site) -> None:
    """A browser that was left signed in is no way to guess the password."""
    client = site.signed_in(WebRole.VIEWER)
    answers = [
        client.post("/api/v1/accounts/users/mia/password", json={"present": str(n), "password": NEW}) for n in range(11)
    ]
    assert [done.status_code for done in answers] == [422] * 10 + [429]
    assert "retry-after" in answers[-1].headers


@pytest.mark.usefixtures("user_mia")
def test_an_administrator_sets_the_password_of_a_user(site: Site) -> None:
    """Without the present one; the user is signed out everywhere."""
    user = site.signed_in(WebRole.VIEWER)
    assert site.signed_in(name="ann").post("/accounts/users/mia/password", data={"password": NEW}).status_code == 303
    assert user.get("/account").status_code == 303
    assert _signs_in(site, NEW)


def test_a_token_is_shown_once_and_stored_nowhere(site: Site) -> None:
    """Not under an Idempotency-Key either: a second request makes none. It is revoked at once."""
    admin = site.signed_in(name="ann")
    key = {"idempotency-key": "k-1"}
    made = admin.post("/api/v1/accounts/tokens", json={"name": "ci", "role": "responder"}, headers=key)
    token = made.json()["token"]
    assert (made.status_code, token[:4]) == (201, "tww_")
    assert admin.post("/api/v1/accounts/tokens", json={"name": "ci"}, headers=key).status_code == 409
    assert token not in admin.get("/account").text + admin.get("/api/v1/accounts").text
    program = site.client(authorization=f"Bearer {token}")
    assert program.get("/api/v1/overview").status_code == 200
    assert admin.post("/accounts/tokens/ci/revoke").headers["location"] == "/account#tokens"
    assert program.get("/api/v1/overview").status_code == 401
    assert "twr_" in admin.post("/accounts/tokens", data={"name": "reader"}).text


def test_people_end_their_own_sessions(site: Site) -> None:
    """Those of others only an administrator; a program of the same name none."""
    here, elsewhere, ann = (site.signed_in(WebRole.VIEWER, name=name) for name in ("mia", "mia", "ann"))
    every = site.signed_in(name="root").get("/api/v1/accounts").json()["sessions"]
    of_mia, of_ann = ([item["id"] for item in every if item["name"] == name] for name in ("mia", "ann"))
    program = site.client(authorization=f"Bearer {site.token(WebRole.VIEWER, 'mia')}")
    assert program.post(f"/api/v1/accounts/sessions/{of_mia[0]}/end").status_code == 403
    assert here.post(f"/accounts/sessions/{of_ann[0]}/end").status_code == 404
    assert ann.get("/account").status_code == 200
    other = next(number for number in of_mia if f"/accounts/sessions/{number}/end" in here.get("/account").text)
    assert here.post(f"/accounts/sessions/{other}/end").status_code == 303
    assert (here.get("/account").status_code, elsewhere.get("/account").status_code) == (200, 303)
    assert site.signed_in(name="root").post(f"/accounts/sessions/{of_ann[0]}/end").status_code == 303
    assert ann.get("/account").status_code == 303


def test_every_change_of_an_account_is_logged(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """With who made it, and without a secret."""
    caplog.set_level("INFO")
    site.signed_in(name="ann").post("/accounts/users", data={"name": "mia", "password": OLD})
    assert "user mia added by ann (password)" in caplog.text
    assert OLD not in caplog.text
