"""Signing in at an identity provider: the user that results, and every invalid token."""

import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.client import HTTPConnection
from json import dumps
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from starlette.testclient import TestClient

from monitor.commands._options import check_web_installed
from monitor.config import ConfigError
from monitor.config.web_model import attempt_cookie_name, cookie_name, refused_address
from monitor.web.oidc import SignInAttempt
from sources import MissingExtra
from store import Grant, WebRole, WebUser
from tests.monitor.shop import build_shop
from tests.monitor.web.identity_provider import (
    CLIENT,
    CLIENT_SECRET,
    IdentityProvider,
    identity_provider,
    new_key,
)
from tests.monitor.web.site import Site

ROLES = """
    roles:
      - {group: stewards, role: steward}
      - {group: sales, role: owner, domains: [sales]}
      - {group: on-call, role: responder}
"""


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    """Serve a provider."""
    with identity_provider() as served:
        yield served


@pytest.fixture
def web_section(provider: IdentityProvider) -> str:
    """Return the section of the provider."""
    return f"""
web:
  public_url: http://localhost
  oidc:
    issuer: {provider.issuer}
    client_id: {CLIENT}
    client_secret: {CLIENT_SECRET}
{ROLES.strip(chr(10))}
"""


@pytest.fixture
def site(site: Site, provider: IdentityProvider) -> Site:
    """Return the application, whose clock the provider reads too."""
    provider.now = lambda: site.clock.now().timestamp()
    return site


def _at_provider(address: str) -> str:
    """Return where the provider sends a browser that opens an address of it."""
    place = urlsplit(address)
    connection = HTTPConnection(place.hostname or "", place.port)
    try:
        connection.request("GET", f"{place.path}?{place.query}")
        return connection.getresponse().headers["Location"]
    finally:
        connection.close()


def _way_back(client: TestClient, *, to: str = "/") -> str:
    """Return the address with which the provider sends a browser back after it has signed its person in."""
    gone = client.get("/sign-in/oidc", params={"next": to})
    assert gone.status_code == 303
    return _at_provider(gone.headers["location"])


def _signed_in(site: Site) -> TestClient:
    client = site.client()
    done = client.get(_way_back(client))
    assert done.status_code == 303, done.text
    return client


def test_a_person_of_the_provider_signs_in_as_a_viewer(site: Site) -> None:
    """The sign-in page leads to the provider and back to the page that was asked for; who is new may read."""
    client = site.client()
    page = client.get(client.get("/incidents").headers["location"])
    assert 'href="/sign-in/oidc?next=/incidents"' in page.text
    done = client.get(_way_back(client, to="/incidents"), headers={"sec-fetch-site": "cross-site"})
    assert (done.status_code, done.headers["location"]) == (303, "/incidents")
    cookies = done.headers.get_list("set-cookie")
    assert all("httponly" in cookie.lower() and "samesite=lax" in cookie.lower() for cookie in cookies)
    page = client.get("/incidents")
    assert "mia · viewer" in page.text
    assert client.post(f"/incidents/{site.incident()}/ack", data={}).status_code == 403


def test_the_provider_is_asked_for_a_code_with_pkce_state_and_nonce(site: Site) -> None:
    """Each way there has its own; none of them is the secret of the browser's cookie."""
    seen = []
    for _ in range(2):
        client = site.client()
        gone = client.get("/sign-in/oidc").headers["location"]
        query = {key: value[0] for key, value in parse_qs(urlsplit(gone).query).items()}
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert query["redirect_uri"] == "http://localhost/sign-in/oidc/callback"
        assert "openid" in query["scope"].split()
        secret = client.cookies[attempt_cookie_name(site.project.config.web)].partition(".")[0]
        assert secret not in gone
        seen += [query["state"], query["nonce"], query["code_challenge"]]
    assert len(set(seen)) == 6


@pytest.mark.parametrize(
    ("groups", "grant"),
    [
        (["on-call"], Grant(WebRole.RESPONDER)),
        (["on-call", "sales"], Grant(WebRole.OWNER, (), ("sales",))),
        ("stewards", Grant(WebRole.STEWARD)),
        (["elsewhere", {"odd": 1}, 7], Grant(WebRole.VIEWER)),
        ({"on-call": True}, Grant(WebRole.VIEWER)),
        (None, Grant(WebRole.VIEWER)),
    ],
)
def test_groups_are_roles(site: Site, provider: IdentityProvider, groups: Any, grant: Grant) -> None:
    """The first of `roles` whose group a person is in holds; a person of none may read."""
    provider.claims["groups"] = groups
    client = _signed_in(site)
    limits = ", ".join([*grant.owners, *grant.domains])
    assert f"mia · {grant.role}" in client.get("/").text
    number = site.incident(table="refunds")
    acts = client.post(f"/incidents/{number}/ack", data={"if_version": "1"}).status_code
    assert acts == (303 if grant.role in {WebRole.RESPONDER, WebRole.OWNER} else 403)
    if acts == 303:
        assert site.actors(number)[-1] == "mia (oidc)"
    other = client.post(f"/incidents/{site.incident()}/ack", data={"if_version": "1"}).status_code
    assert other == (303 if grant.role is WebRole.RESPONDER else 403), limits


def test_who_is_in_no_group_has_the_role_of_the_store(site: Site) -> None:
    """`web user add mia --no-password --role admin` counts."""
    with site.store.writing() as tx:
        tx.accounts.add_user(WebUser("mia", Grant(WebRole.ADMIN), None, site.clock.now()))
    assert "mia · admin" in _signed_in(site).get("/").text


def _other_key(claims: dict[str, Any], key: RSAKey) -> str:
    return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, new_key("of somebody else"))


def _unsigned(claims: dict[str, Any], key: RSAKey) -> str:
    del key
    parts = [urlsafe_b64encode(dumps(part).encode()).rstrip(b"=").decode() for part in ({"alg": "none"}, claims)]
    return f"{'.'.join(parts)}."


def _signed_by_secret(claims: dict[str, Any], key: RSAKey) -> str:
    """Sign with what all clients know: the client's secret, or the public key taken for a shared one."""
    del key
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(CLIENT_SECRET.encode() * 2))


def _changed_after(claims: dict[str, Any], key: RSAKey) -> str:
    head, _, signature = jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key).split(".")
    body = urlsafe_b64encode(dumps({**claims, "preferred_username": "eve"}).encode()).rstrip(b"=").decode()
    return f"{head}.{body}.{signature}"


@pytest.mark.parametrize("sign", [_other_key, _unsigned, _signed_by_secret, _changed_after, lambda *_: "no.token"])
def test_a_token_that_the_provider_did_not_sign_is_refused(
    site: Site, provider: IdentityProvider, sign: Callable[[dict[str, Any], RSAKey], str]
) -> None:
    """Another key, `alg: none`, a shared secret, changed claims, or nothing of the kind."""
    provider.sign = sign
    client = site.client()
    done = client.get(_way_back(client))
    assert done.status_code == 401
    assert client.cookies.get(cookie_name(site.project.config.web)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"aud": None},
        {"iss": "https://another.example"},
        {"iss": None},
        {"exp": 1},
        {"exp": None},
        {"exp": float("1e18") * -1},
        {"iat": 9_999_999_999},
        {"sub": None},
        {"at_hash": "wrong"},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    site: Site, provider: IdentityProvider, change: dict[str, Any]
) -> None:
    """Another nonce, audience or issuer, one that is over or lies ahead, or a claim that is missing."""

    def changed(claims: dict[str, Any]) -> None:
        claims.update(change)
        for name in [name for name, value in change.items() if value is None]:
            del claims[name]

    provider.change = changed
    client = site.client()
    done = client.get(_way_back(client))
    assert done.status_code == 401
    assert client.cookies.get(cookie_name(site.project.config.web)) is None
    assert client.get("/").status_code == 303


def test_a_way_back_is_used_once(site: Site) -> None:
    """A second time the browser has no attempt; with a copy of it the provider refuses the code."""
    client = site.client()
    back = _way_back(client)
    name = attempt_cookie_name(site.project.config.web)
    attempt = client.cookies[name]
    assert client.get(back).status_code == 303
    assert client.cookies.get(name) is None
    assert client.get(back).status_code == 401
    copy = site.client()
    copy.cookies.set(name, attempt)
    assert copy.get(back).status_code == 401
    assert copy.get("/").status_code == 303


def test_a_way_back_of_somebody_else_is_refused(site: Site, provider: IdentityProvider) -> None:
    """Login CSRF: a link that would sign me in as the sender; the provider is not even asked."""
    attacker, victim = site.client(), site.client()
    back = _way_back(attacker)
    assert victim.get(back).status_code == 401
    _way_back(victim)
    provider.asked.clear()
    assert victim.get(back).status_code == 401
    assert provider.asked == []


def test_a_code_without_the_browsers_verifier_is_worth_nothing(site: Site) -> None:
    """PKCE: an attacker who reads a code on its way cannot use it in another attempt."""
    victim, thief = site.client(), site.client()
    code = parse_qs(urlsplit(_way_back(victim)).query)["code"][0]
    state = parse_qs(urlsplit(_way_back(thief)).query)["state"][0]
    done = thief.get("/sign-in/oidc/callback", params={"code": code, "state": state})
    assert done.status_code == 401
    assert "invalid_grant" in done.text


def test_an_error_of_the_provider_is_told_in_one_word(site: Site) -> None:
    """What else it sends is not repeated."""
    for error, shown in (("access_denied", "access_denied"), ("<b>Mia was fired</b>", "unknown error")):
        client = site.client()
        state = parse_qs(urlsplit(client.get("/sign-in/oidc").headers["location"]).query)["state"][0]
        done = client.get("/sign-in/oidc/callback", params={"error": error, "state": state})
        assert done.status_code == 401
        assert shown in done.text
        assert "fired" not in done.text


def test_an_answer_that_names_another_issuer_is_refused(site: Site) -> None:
    """Mix-up of providers (RFC 9207): the code of one is not taken to the other."""
    client = site.client()
    back = _way_back(client)
    assert client.get(f"{back}&iss=https://another.example").status_code == 401


def test_new_keys_of_the_provider_are_read(site: Site, provider: IdentityProvider) -> None:
    """A provider changes its keys; the first token of a new one makes the set be read again."""
    client = _signed_in(site)
    provider.key = new_key("second")
    site.clock.advance(timedelta(seconds=30))
    assert client.get(_way_back(client)).status_code == 303


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "http://127.0.0.1:1"},
        {"token_endpoint": "http://example.org/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": None},
    ],
)
def test_metadata_that_cannot_be_trusted_is_refused(
    site: Site, provider: IdentityProvider, change: dict[str, Any]
) -> None:
    """Another issuer, or an address that others can listen to: no redirect leads there."""
    provider.change_metadata = lambda metadata: metadata.update(change)
    assert site.client().get("/sign-in/oidc").status_code == 401


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"preferred_username": "Mia Example"}, 403),
        ({"preferred_username": ["mia"]}, 403),
        ({"preferred_username": ""}, 403),
        ({}, 403),
    ],
    ids=str,
)
def test_a_person_without_a_usable_name_is_refused(
    site: Site, provider: IdentityProvider, claims: dict[str, Any], status: int
) -> None:
    """A name is letters, digits and `. _ @ + -`: it stands in the events of incidents."""
    provider.claims = {"sub": "4711", **claims}
    client = site.client()
    assert client.get(_way_back(client)).status_code == status


def test_a_fixed_session_is_replaced(site: Site) -> None:
    """Session fixation: the id that the browser came with is not the one it leaves with, and is over."""
    client = site.signed_in(name="eve")
    name = cookie_name(site.project.config.web)
    before = client.cookies[name]
    assert client.get(_way_back(client)).status_code == 303
    assert {cookie.value for cookie in client.cookies.jar if cookie.name == name} != {before}
    old = site.client()
    old.cookies.set(name, before)
    assert old.get("/").status_code == 303


class TestByAddress:
    """The name is the e-mail address."""

    @pytest.fixture
    def web_section(self, provider: IdentityProvider) -> str:
        """Return the section of the provider."""
        return f"""
web:
  public_url: http://localhost
  oidc: {{issuer: '{provider.issuer}', client_id: {CLIENT}, client_secret: {CLIENT_SECRET}, name_claim: email,
    scopes: [openid, email, teams], groups_claim: teams, roles: [{{group: desk, role: owner, owners: [desk]}}]}}
"""

    @pytest.mark.parametrize(("verified", "status"), [(True, 303), (False, 403), (None, 403), ("true", 403)])
    def test_only_a_verified_address_is_a_name(
        self, site: Site, provider: IdentityProvider, verified: object, status: int
    ) -> None:
        """Users can write any address into a profile."""
        provider.claims = {"sub": "4711", "email": "mia@example.org", "email_verified": verified}
        client = site.client()
        assert client.get(_way_back(client)).status_code == status

    def test_the_provider_is_asked_for_what_is_configured(self, site: Site, provider: IdentityProvider) -> None:
        """The scopes go there; the groups are read from the claim, and the owner's tables from the section."""
        provider.claims = {"sub": "1", "email": "mia@example.org", "email_verified": True, "teams": ["desk"]}
        client = site.client()
        gone = client.get("/sign-in/oidc").headers["location"]
        assert parse_qs(urlsplit(gone).query)["scope"] == ["openid email teams"]
        assert client.get(_at_provider(gone)).status_code == 303
        assert "mia@example.org · owner" in client.get("/").text
        acts = client.post(f"/incidents/{site.incident()}/ack", data={"if_version": "1"})
        assert acts.status_code == 303
        assert client.post(f"/incidents/{site.incident(table='refunds')}/ack", data={}).status_code == 403


class TestOfNoProvider:
    """The configuration has none, or one that is not there."""

    @pytest.fixture
    def web_section(self, request: pytest.FixtureRequest) -> str:
        """Return none, or one at a port where nothing listens."""
        there = getattr(request, "param", None)
        oidc = "web: {public_url: 'http://localhost', oidc: {issuer: 'http://127.0.0.1:9', client_id: x}}"
        return f"\n{oidc}\n" if there else ""

    def test_without_one_nobody_is_sent_anywhere(self, site: Site) -> None:
        """The page has no button, and the addresses are refused."""
        client = site.client()
        assert "oidc" not in client.get("/sign-in").text
        assert client.get("/sign-in/oidc").status_code == 403
        assert client.get("/sign-in/oidc/callback").status_code == 403

    @pytest.mark.parametrize("web_section", [True], indirect=True)
    def test_a_provider_that_does_not_answer_is_reported(self, site: Site) -> None:
        """503; the other pages answer."""
        client = site.client()
        assert client.get("/sign-in/oidc").status_code == 503
        assert client.get("/sign-in").status_code == 200


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{issuer: 'http://login.example.org', client_id: x}", "https://"),
        ("{issuer: 'https://login.example.org', client_id: x, scopes: [profile]}", "openid"),
        ("{issuer: 'https://l.example.org', client_id: x, roles: [{group: g, role: owner}]}", "whose tables"),
        (
            "{issuer: 'https://l.example.org', client_id: x, roles: [{group: g, role: owner, owners: [dsk]}]}",
            "unknown owner 'dsk'",
        ),
    ],
)
def test_a_section_that_cannot_be_is_refused(tmp_path: Path, section: str, message: str) -> None:
    """Plain http, no `openid`, an owner of nothing, an undefined owner: the message helps."""
    shop = build_shop(tmp_path)
    shop.config.write_text(
        f"{shop.config.read_text()}\nweb: {{public_url: 'https://w.example.org', oidc: {section}}}\n"
    )
    with pytest.raises(ConfigError, match=message):
        shop.project()


def test_a_provider_is_a_way_to_sign_in_and_its_secret_is_masked(tmp_path: Path) -> None:
    """It lets the application listen beyond this machine; without `public_url` it cannot be."""
    shop = build_shop(tmp_path)
    text = shop.config.read_text()
    section = f"oidc: {{issuer: 'https://l.example.org', client_id: x, client_secret: {CLIENT_SECRET}}}"
    shop.config.write_text(f"{text}\nweb: {{public_url: 'https://w.example.org', {section}}}\n")
    project = shop.project()
    assert refused_address(project.config.web, "192.0.2.1") is None
    assert CLIENT_SECRET not in project.loaded.redactor(f"it is {CLIENT_SECRET}")
    shop.config.write_text(f"{text}\nweb: {{{section}}}\n")
    with pytest.raises(ConfigError, match="public_url"):
        shop.project()


def test_an_attempt_is_read_back_and_nothing_else_is() -> None:
    """The page to show afterwards may have any letters."""
    attempt = SignInAttempt.new("/tables/注文")
    assert SignInAttempt.of_cookie(attempt.to_cookie()) == attempt
    assert attempt.to_cookie().isascii()
    for text in (None, "", ".", "short./", attempt.secret):
        assert SignInAttempt.of_cookie(text) is None


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider without Authlib is an error that says what to install."""
    monkeypatch.setitem(sys.modules, "authlib", None)
    check_web_installed()
    with pytest.raises(MissingExtra, match=r"pip install 'tablewatch\[oidc\]'"):
        check_web_installed(oidc=True)
