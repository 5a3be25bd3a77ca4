"""Keeping secrets out of what is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.terminal.redaction import MASK, Redactor


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:pw@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:p@ss@host/db", "postgresql://me:***@host/db"),
        ("two: a://u:x@h b://u:y@h", "two: a://u:***@h b://u:***@h"),
        ("postgresql+psycopg://u:x@h:5432/db", "postgresql+psycopg://u:***@h:5432/db"),
        ("snowflake://u:x@h/db?role=r&token=abc#z", "snowflake://u:***@h/db?role=r&token=***#z"),
        ("https://h/hook?api_key=abc", "https://h/hook?api_key=***"),
        ("sc://h:15002/;use_ssl=true;token=abc", "sc://h:15002/;use_ssl=true;token=***"),
        ("oracle://h/db?authToken=abc;x=1", "oracle://h/db?authToken=***;x=1"),
        (
            "https://a.blob.core.windows.net/t/o.csv?sv=2024&sig=ab%3D&se=1",
            "https://a.blob.core.windows.net/t/o.csv?sv=2024&sig=***&se=1",
        ),
        ("s3://b/o.csv?X-Amz-Expires=9&X-Amz-Signature=ab12", "s3://b/o.csv?X-Amz-Expires=9&X-Amz-Signature=***"),
        (
            "https://h/o?X-Goog-Signature=ab&X-Goog-Credential=me",
            "https://h/o?X-Goog-Signature=***&X-Goog-Credential=***",
        ),
        ("https://h/o?sig=ab", "https://h/o?sig=***"),
        ("https://h/o?signed=yes&design=ab", "https://h/o?signed=yes&design=ab"),
        ("json://localhost:9/", "json://localhost:9/"),
        ("mail me@example.org at 12:30", "mail me@example.org at 12:30"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("see https://wiki/a and mail me@h", "see https://wiki/a and mail me@h"),
        ("", ""),
    ],
)
def test_passwords_in_urls_are_masked(text: str, shown: str) -> None:
    """The password of any URL is masked, also when it is not declared as one; other text is left alone."""
    assert Redactor()(text) == shown


@given(secret=st.text(min_size=4).filter(lambda text: len(text.strip()) >= 4 and text not in MASK), around=st.text())
def test_a_secret_never_survives(secret: str, around: str) -> None:
    """Wherever a secret of four characters or more stands, it is masked."""
    assert secret not in Redactor({secret})(f"{around}{secret}{around}").replace(MASK, "\0")


def test_longer_secrets_go_first() -> None:
    """A secret inside another one leaves no rest behind."""
    assert Redactor({"abcd", "abcdefgh"})("abcdefgh abcd") == "*** ***"


def test_every_line_of_a_secret_file_is_masked() -> None:
    """A key of several lines is masked line by line."""
    assert Redactor({"first line\n  second line"})("second line") == "***"


def test_short_values_do_not_destroy_texts() -> None:
    """A port or a flag from the environment is not hunted through all output."""
    assert Redactor({"5", "on"})("5 rows on host 5") == "5 rows on host 5"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  secret: whsec_abc", "  secret: ***"),
        ("{webhook: {url: 'https://h/T/B/abc', secret: \"a, b\"}}", "{webhook: {url: ***, secret: ***}}"),
        ('"apprise": "slack://T/B/abc",', '"apprise": ***,'),
        ("heartbeat_url: https://h/abc def  # mine", "heartbeat_url: ***"),
        ("apprise: 'slack://T/B/never closed", "apprise: ***"),
        ("url: sqlite:///shop.db", "url: sqlite:///shop.db"),
        ("runbook: https://wiki/a", "runbook: https://wiki/a"),
        ("secret", "secret"),
    ],
)
def test_secrets_in_a_line_that_nobody_could_read(line: str, shown: str) -> None:
    """A quoted line of a broken configuration shows no value of a key that holds a secret."""
    assert Redactor(keys=["apprise", "heartbeat_url"]).line(line) == shown


def test_values_keep_their_shape() -> None:
    """Numbers, keys and structure are left alone."""
    redact = Redactor({"secret"})
    assert redact.value({"secret": ("a secret", 1, None, True)}) == {"secret": ["a ***", 1, None, True]}


def test_a_person_may_ask_to_see_everything() -> None:
    """Without secrets and with URLs let through, nothing is masked."""
    assert Redactor(urls=False)("a://u:x@h") == "a://u:x@h"
