"""PostgreSQL with a certificate: whose authority and host name are asked for by `sslmode=verify-full`."""

import shutil
import subprocess

import pytest

from sources import SourceSpec, Unreachable, open_source
from tests._postgres import late_server

pytestmark = [pytest.mark.postgres, pytest.mark.openssl]
_SETTINGS = "ssl=on\nssl_cert_file='server.crt'\nssl_key_file='server.key'\n"


def _openssl(folder, *words):
    subprocess.run([str(shutil.which("openssl")), *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Yield the URL of a server whose certificate is of the host `localhost`, and the folder of two authorities."""
    folder = tmp_path_factory.mktemp("authorities")
    new = ("req", "-newkey", "rsa:2048", "-nodes")
    for name in ("own", "other"):
        _openssl(
            folder, *new, "-x509", "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt"
        )
    _openssl(folder, *new, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
    signed = ("-CA", "own.crt", "-CAkey", "own.key", "-CAcreateserial")
    _openssl(folder, "x509", "-req", "-in", "server.csr", *signed, "-days", "2", "-out", "server.crt")
    files = {name: (folder / name).read_bytes() for name in ("server.crt", "server.key")}
    with late_server(files=files, more=_SETTINGS) as (url, start):
        start()
        yield url, folder


def _spec(server, *, host, authority):
    url, folder = server
    place = url.replace("127.0.0.1", host)
    return SourceSpec("w", folder, url=f"{place}?sslmode=verify-full&sslrootcert={folder / authority}")


def test_of_the_authority_it_is_reached(server):
    """By the name of the certificate."""
    with open_source(_spec(server, host="localhost", authority="own.crt")) as source:
        assert source.fetch("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize(
    ("host", "authority", "why"),
    [
        ("127.0.0.1", "own.crt", "the server's certificate is of another host name; see sslmode and host"),
        ("localhost", "other.crt", "the server's certificate is not of an authority in sslrootcert; see sslmode"),
    ],
)
def test_else_the_error_says_what_does_not_fit(server, host, authority, why):
    """No connection is made, and the password is not in the error."""
    with pytest.raises(Unreachable) as raised, open_source(_spec(server, host=host, authority=authority)) as source:
        source.fetch("SELECT 1 AS one")
    assert why in str(raised.value)
    assert "throwaway" not in str(raised.value)
