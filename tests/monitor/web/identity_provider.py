"""An OpenID Connect provider on this machine: one person, real keys and signatures, and whatever a test changes."""

import json
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT = "tablewatch"
CLIENT_SECRET = "s3cret-of-the-client"  # noqa: S105 - of a client of these tests


def _unchanged(_: dict[str, Any]) -> None:
    """Change nothing."""


@cache
def new_key(name: str) -> RSAKey:
    """Return a key pair, the same each time for a name: making one takes longer than a test."""
    return RSAKey.generate_key(2048, {"use": "sig", "kid": name})


def _signed(claims: dict[str, Any], key: RSAKey) -> str:
    return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


@dataclass
class IdentityProvider:
    """What the provider asserts of its one person, and how it may be made to misbehave."""

    now: Callable[[], float] = time
    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "4711", "preferred_username": "mia"})
    change: Callable[[dict[str, Any]], None] = _unchanged
    """Changes the claims of an ID token before it is signed."""
    sign: Callable[[dict[str, Any], RSAKey], str] = _signed
    change_metadata: Callable[[dict[str, Any]], None] = _unchanged
    key: RSAKey = field(default_factory=lambda: new_key("first"))
    issuer: str = ""
    asked: list[str] = field(default_factory=list)
    """Paths that were asked for."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def authorise(self, query: dict[str, str]) -> str:
        """Return the address to which the browser is sent back: the person has signed in."""
        code = f"code-{len(self.asked)}"
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def redeem(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Return the tokens of a code, once, to the client that can show its secret and the verifier."""
        client = unquote(b64decode(authorization.removeprefix("Basic ")).decode())
        asked = self.codes.pop(form.get("code", ""), None)
        if client != f"{CLIENT}:{CLIENT_SECRET}":
            return 401, {"error": "invalid_client"}
        if asked is None or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        proof = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if (asked["code_challenge_method"], asked["code_challenge"]) != ("S256", proof):
            return 400, {"error": "invalid_grant"}
        at = int(self.now())
        claims = {
            "iss": self.issuer,
            "aud": asked["client_id"],
            "iat": at,
            "exp": at + 300,
            "nonce": asked["nonce"],
            **self.claims,
        }
        self.change(claims)
        token = {"access_token": "opaque", "token_type": "Bearer", "id_token": self.sign(claims, self.key)}
        return 200, token

    def published(self, path: str) -> dict[str, Any] | None:
        """Return the metadata or the keys."""
        if path == "/.well-known/openid-configuration":
            metadata: dict[str, Any] = {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorise",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
            }
            self.change_metadata(metadata)
            return metadata
        return dict(KeySet([self.key]).as_dict(private=False)) if path == "/keys" else None


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """Serve a provider on this machine for the block."""
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = urlsplit(self.path)
            provider.asked.append(place.path)
            if place.path == "/authorise":
                self.send_response(302)
                self.send_header("Location", provider.authorise(dict(parse_qsl(place.query))))
                self.end_headers()
                return
            found = provider.published(place.path)
            self._answer(404 if found is None else 200, found or {})

        def do_POST(self) -> None:
            provider.asked.append(self.path)
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._answer(*provider.redeem({key: values[0] for key, values in form.items()}, self._basic()))

        def _basic(self) -> str:
            return self.headers.get("Authorization", "")

        def _answer(self, status: int, value: dict[str, Any]) -> None:
            text = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
