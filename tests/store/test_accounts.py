"""Accounts of the web application: secrets are kept as hashes, a link works once, a removed user is signed out."""

from datetime import datetime

import pytest

from store import (
    ApiToken,
    Grant,
    LoginLink,
    NotRecorded,
    SignInMethod,
    Store,
    StoreConflict,
    WebRole,
    WebSession,
    WebUser,
)
from tests.store.made import AT, HOUR

OWNER = Grant(WebRole.OWNER, ("desk",), ("sales",))
MIA = WebUser("mia", OWNER, "$argon2id$...", AT)


def _session(digest: bytes = b"s", *, seen_at: datetime = AT) -> WebSession:
    return WebSession(digest, "mia", OWNER, SignInMethod.FORM, AT, seen_at, AT + 100 * HOUR)


def test_a_user_is_kept_whole_and_once(store: Store) -> None:
    """What is read is what was written; a second user of the name is refused."""
    with store.writing() as tx:
        tx.accounts.add_user(MIA)
        with pytest.raises(StoreConflict, match="'mia'"):
            tx.accounts.add_user(MIA)
    with store.reading() as tx:
        assert tx.accounts.users() == [MIA]
        assert (tx.accounts.user("mia"), tx.accounts.user("bob")) == (MIA, None)


def test_removing_a_user_signs_them_out(store: Store) -> None:
    """Sessions and unused links of the name go with the user; those of others stay."""
    other = WebSession(b"o", "bob", Grant(WebRole.VIEWER), SignInMethod.PROXY, AT, AT, AT + HOUR)
    with store.writing() as tx:
        tx.accounts.add_user(MIA)
        tx.accounts.add_session(_session())
        tx.accounts.add_session(other)
        tx.accounts.add_link(LoginLink(b"l", "mia", OWNER, AT + HOUR))
        tx.accounts.remove_user("mia")
        assert tx.accounts.session(b"s") is None
        assert tx.accounts.session(b"o") == other
        assert tx.accounts.take_link(b"l", AT) is None
        with pytest.raises(NotRecorded, match="'mia'"):
            tx.accounts.remove_user("mia")


def test_a_link_is_taken_once_and_in_time(store: Store) -> None:
    """A link signs in once; one that is over does not, and is gone."""
    link = LoginLink(b"l", "mia", OWNER, AT + HOUR)
    with store.writing() as tx:
        tx.accounts.add_link(link)
        assert tx.accounts.take_link(b"l", AT) == link
        assert tx.accounts.take_link(b"l", AT) is None
        tx.accounts.add_link(link)
        assert tx.accounts.take_link(b"l", AT + HOUR) is None
        assert tx.accounts.take_link(b"l", AT) is None


def test_sessions_end(store: Store) -> None:
    """The use of a session is recorded; a session that is ended is gone."""
    with store.writing() as tx:
        for digest in (b"a", b"b"):
            tx.accounts.add_session(_session(digest))
        tx.accounts.touch_session(b"a", AT + 2 * HOUR)
        assert tx.accounts.session(b"a") == _session(b"a", seen_at=AT + 2 * HOUR)
        tx.accounts.add_session(_session(b"c"))
        tx.accounts.end_session(b"c")
        assert tx.accounts.session(b"c") is None


def test_tokens_are_revoked_once_and_their_names_never_used_again(store: Store) -> None:
    """A token keeps when it was used and revoked; its name is that of what it did, for ever."""
    token = ApiToken(b"t", "ci", Grant(WebRole.RESPONDER), AT, AT + HOUR)
    with store.writing() as tx:
        tx.accounts.add_token(token)
        tx.accounts.use_token(b"t", AT + HOUR / 2)
        tx.accounts.revoke_token("ci", AT + HOUR / 2)
        tx.accounts.revoke_token("ci", AT + HOUR)
        expected = ApiToken(b"t", "ci", token.grant, AT, AT + HOUR, AT + HOUR / 2, AT + HOUR / 2)
        assert tx.accounts.token(b"t") == expected
        assert tx.accounts.tokens() == [expected]
        assert tx.accounts.token(b"x") is None
        with pytest.raises(StoreConflict, match="'ci'"):
            tx.accounts.add_token(ApiToken(b"u", "ci", token.grant, AT, AT + HOUR))
        with pytest.raises(NotRecorded, match="'other'"):
            tx.accounts.revoke_token("other", AT)
