import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.channels.addresses import (
    AddressRefused,
    HostLookup,
    NotResolved,
    checked_addresses,
    system_resolver,
    why_refused,
)

REFUSED = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104 - nothing listens there
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::1",
    "2001:0:5ef5:79fd:0:59d:80ff:fffe",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:808:808::1",
    "2600::5efe:7f00:1",
    "2600::200:5efe:a00:1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%lo",
    "fec0::1",
    "ff02::1",
    "0:0:0:0:0:0:0:1",
    "4000::1",
    "not an address",
]
ALLOWED = [
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "126.255.255.255",
    "128.0.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "191.255.255.255",
    "192.0.1.1",
    "192.167.255.255",
    "192.169.0.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2a00:1450:4001:80b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]


def asked(*found: str, host: str = "hooks.example", allow_private: bool = False) -> Sequence[str]:
    """Resolve a name to what is given, and check it."""
    question = HostLookup(host, 443, seconds=5, allow_private=allow_private)
    return checked_addresses(question, lambda *_: list(found))


@pytest.mark.parametrize("address", REFUSED)
def test_no_alert_goes_to_a_private_place(address: str) -> None:
    """What is not on the internet is refused, whatever way of writing an IPv4 address into IPv6 is used."""
    assert why_refused(address)
    with pytest.raises(AddressRefused):
        asked(address)


@pytest.mark.parametrize("address", ALLOWED)
def test_the_internet_is_not_refused(address: str) -> None:
    """The neighbours of every refused block are let through."""
    assert why_refused(address) is None
    assert asked(address) == [address]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["::ffff:{0}", "64:ff9b::{0}", "{0}"]))
def test_an_embedded_address_is_judged_like_the_plain_one(number: int, spelling: str) -> None:
    """An IPv4 address is refused in IPv6 exactly when it is refused by itself."""
    dotted = ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
    assert why_refused(spelling.format(dotted)) == why_refused(dotted)


def test_one_private_address_among_many_refuses_the_name() -> None:
    """All addresses of a name are looked at, not only the first."""
    for found in (("8.8.8.8", "10.0.0.1"), ("10.0.0.1", "8.8.8.8"), ("2606:4700:4700::1111", "::1")):
        with pytest.raises(AddressRefused, match="allow_private"):
            asked(*found)


def test_a_private_address_can_be_meant() -> None:
    """With `allow_private` every address is let through."""
    assert asked("10.0.0.1", "::1", allow_private=True) == ["10.0.0.1", "::1"]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "0x7f.1",
        "0x7f000001",
        "0x7F.0x00.0x00.0x01",
        "2130706433",
        "017700000001",
        "0177.0.0.1",
        "0",
        "::1",
        "localhost",
    ],
)
def test_the_systems_resolver_reads_every_spelling_before_it_is_checked(host: str) -> None:
    """Octal, hexadecimal, shortened and decimal spellings of the loopback are seen through."""
    with pytest.raises(AddressRefused):
        checked_addresses(HostLookup(host, 80, seconds=5), system_resolver)


def test_a_name_that_means_nothing_is_said_so() -> None:
    """A name without an address, one that cannot be resolved and one that is no name are reported without the name."""

    def unknown(_host: str, _port: int) -> Sequence[str]:
        raise OSError(-2, "Name or service not known")

    with pytest.raises(NotResolved, match="could not be resolved") as said:
        checked_addresses(HostLookup("secret.example", 443, seconds=5), unknown)
    assert "secret" not in str(said.value)
    with pytest.raises(NotResolved):
        asked()
    with pytest.raises(NotResolved):
        checked_addresses(HostLookup("a" * 70 + ".example", 443, seconds=5), system_resolver)


def test_a_name_server_that_does_not_answer_is_left() -> None:
    """Resolving is part of the deadline, although the system's resolver knows none."""
    over = threading.Event()

    def hanging(_host: str, _port: int) -> Sequence[str]:
        over.wait()
        return ["8.8.8.8"]

    with pytest.raises(NotResolved, match="in time"):
        checked_addresses(HostLookup("hooks.example", 443, seconds=0.01), hanging)
    over.set()
