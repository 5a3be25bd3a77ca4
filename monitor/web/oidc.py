"""Sign-in by an OpenID Connect provider: authorization code flow with PKCE. The only file that imports Authlib.

    attempt ─> provider's page ─> code ─> tokens ─> signature and claims ─> name and grant
    (cookie)   (browser)                  (server)

An attempt is one random secret in a cookie of the browser; state, nonce and the verifier of PKCE are derived from it.
Nothing is remembered on the server in between, so that no client can fill its memory and any process can answer.
"""

import hmac
import json
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final, Self
from urllib.parse import quote, unquote

from monitor.config import OidcSignIn
from monitor.config.web_model import is_private_way
from monitor.terminal.problem import Problem
from monitor.verbs.account_secrets import is_account_name
from monitor.web.problems import WebError
from store import Grant, WebRole

LOG: Final = logging.getLogger("tablewatch")
ATTEMPT_LIFE: Final = timedelta(minutes=10)
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key pair: `none` and signatures by a shared secret are never accepted."""
_PATIENCE_S: Final = 10
_LEEWAY_S: Final = 60
_KEYS_LIFE_S: Final = 600.0
_KEYS_PAUSE_S: Final = 10.0
"""A key that is not in the provider's set makes us read the set again, but not more often than this."""
_LARGEST: Final = 1_000_000
_SECRET_LETTERS: Final = 43
"""Letters of 256 random bits."""


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """One way to the provider and back: a secret of the browser, and the page to show afterwards."""

    secret: str
    to: str

    @classmethod
    def new(cls, to: str) -> Self:
        """Return a new attempt."""
        return cls(secrets.token_urlsafe(32), to)

    @classmethod
    def of_cookie(cls, text: str | None) -> Self | None:
        """Return the attempt that a cookie holds; None where it holds none."""
        secret, separator, to = (text or "").partition(".")
        return cls(secret, unquote(to)) if separator and len(secret) == _SECRET_LETTERS else None

    def to_cookie(self) -> str:
        """Return what the browser keeps."""
        return f"{self.secret}.{quote(self.to, safe='/')}"

    def derived(self, purpose: str) -> str:
        """Return the secret for one purpose; one does not reveal the others."""
        return hmac.new(self.secret.encode(), purpose.encode(), sha256).hexdigest()

    def matches(self, state: str) -> bool:
        """Check whether a state is that of this attempt."""
        return hmac.compare_digest(self.derived("state").encode(), state.encode())


class OidcProvider:
    """The provider of the configuration. Its addresses and keys are read when they are first needed."""

    def __init__(self, settings: OidcSignIn, callback: str, monotonic: Callable[[], float]) -> None:
        """Create a client with the client id and the redirect address."""
        self.settings = settings
        self._callback = callback
        self._monotonic = monotonic
        self._metadata: Mapping[str, Any] | None = None
        self._keys: tuple[float, Any] | None = None

    def address(self, attempt: SignInAttempt) -> str:
        """Return the address of the sign-in page of the provider.

        Raises:
            WebError: 503 where the provider does not answer.
        """
        with self._turn():
            metadata = self._discovered()
        with self._session() as session:
            url, _ = session.create_authorization_url(
                metadata["authorization_endpoint"],
                state=attempt.derived("state"),
                nonce=attempt.derived("nonce"),
                code_verifier=attempt.derived("verifier"),
            )
        return str(url)

    def claims(self, attempt: SignInAttempt, code: str, now: datetime) -> Mapping[str, Any]:
        """Return the claims of the provider about the user who came back with a code.

        Raises:
            WebError: 401 where the code or the token is refused, 503 where the provider does not answer.
        """
        with self._turn():
            tokens = self._tokens(attempt, code)
            return self._verified(tokens, attempt, now)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Limit concurrent requests to the provider, and translate its errors."""
        from authlib.integrations.base_client import OAuthError
        from joserfc.errors import JoseError
        from requests import RequestException

        try:
            yield
        except OAuthError as error:
            raise _refused(f"it refused the code ({_word(error.error)})") from None
        except JoseError as error:
            claim = getattr(error, "claim", None)
            raise _refused(f"its token is not valid ({_word(error.error)}{f': {claim}' if claim else ''})") from None
        except RequestException as error:
            raise _unreachable(type(error).__name__) from None
        except (ValueError, KeyError, TypeError) as error:
            raise _refused(f"its answer is not as the standard has it ({type(error).__name__})") from None

    def _session(self) -> Any:
        from authlib.integrations.requests_client import OAuth2Session

        settings = self.settings
        supported = (self._metadata or {}).get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        by_secret = "client_secret_basic" if "client_secret_basic" in supported else "client_secret_post"
        return OAuth2Session(
            settings.client_id,
            settings.client_secret,
            scope=" ".join(settings.scopes),
            redirect_uri=self._callback,
            code_challenge_method="S256",
            token_endpoint_auth_method="none" if settings.client_secret is None else by_secret,
            default_timeout=_PATIENCE_S,
        )

    def _discovered(self) -> Mapping[str, Any]:
        """Return the provider's metadata, which has to be its own and to name addresses that cannot be listened to."""
        if self._metadata is None:
            issuer = self.settings.issuer
            metadata = self._read(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if metadata["issuer"] != issuer:
                raise _refused("its metadata names another issuer than web.oidc.issuer")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if not is_private_way(metadata[name]):
                    raise _refused(f"its {name} is not https")
            self._metadata = metadata
        return self._metadata

    def _read(self, url: str) -> Mapping[str, Any]:
        """Return a JSON object that the provider publishes."""
        with self._session() as session:
            answer = session.request("GET", url, withhold_token=True, allow_redirects=False, stream=True)
            answer.raise_for_status()
            text = answer.raw.read(_LARGEST, decode_content=True)
        read = json.loads(text)
        if answer.status_code != 200 or not isinstance(read, dict):
            raise ValueError("no JSON object")
        return read

    def _tokens(self, attempt: SignInAttempt, code: str) -> Mapping[str, Any]:
        address = self._discovered()["token_endpoint"]
        with self._session() as session:
            tokens: Mapping[str, Any] = session.fetch_token(
                address,
                grant_type="authorization_code",
                code=code,
                code_verifier=attempt.derived("verifier"),
                allow_redirects=False,
            )
        return tokens

    def _verified(self, tokens: Mapping[str, Any], attempt: SignInAttempt, now: datetime) -> Mapping[str, Any]:
        """Return the claims of an ID token that is signed by the provider, for us, for this attempt, and holds now."""
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import BadSignatureError, InvalidKeyIdError

        try:
            token = jwt.decode(tokens["id_token"], self._key_set(), list(_ALGORITHMS))
        except (BadSignatureError, InvalidKeyIdError):  # the provider may have new keys
            token = jwt.decode(tokens["id_token"], self._key_set(refresh=True), list(_ALGORITHMS))
        settings = self.settings
        claims = CodeIDToken(
            token.claims,
            token.header,
            options={
                "iss": {"essential": True, "value": settings.issuer},
                "aud": {"essential": True, "value": settings.client_id},
            },
            params={
                "nonce": attempt.derived("nonce"),
                "client_id": settings.client_id,
                "access_token": tokens.get("access_token"),
            },
        )
        claims.validate(now=int(now.timestamp()), leeway=_LEEWAY_S)
        return dict(claims)

    def _key_set(self, *, refresh: bool = False) -> Any:
        from joserfc.jwk import KeySet

        now = self._monotonic()
        if self._keys is None or now >= self._keys[0] + (_KEYS_PAUSE_S if refresh else _KEYS_LIFE_S):
            published: Any = self._read(self._discovered()["jwks_uri"])
            self._keys = now, KeySet.import_key_set(published)
        return self._keys[1]


def name_of(settings: OidcSignIn, claims: Mapping[str, Any]) -> str:
    """Return the user name of a set of claims.

    Raises:
        WebError: 403 where the claim is missing, is no name, or is an address that the provider did not verify.
    """
    name = claims.get(settings.name_claim)
    hint = "web.oidc.name_claim names the claim that is used"
    if not isinstance(name, str) or not is_account_name(name):
        message = f"the identity provider sent no usable name in the claim '{settings.name_claim}'"
        raise WebError(403, Problem("sign_in.oidc_name", message, hint=hint))
    if settings.name_claim == "email" and claims.get("email_verified") is not True:
        message = "the identity provider has not verified the e-mail address"
        raise WebError(403, Problem("sign_in.oidc_name", message, hint=hint))
    return name


def grant_of(settings: OidcSignIn, claims: Mapping[str, Any], *, of_store: Grant) -> Grant:
    """Return the rights of a user: by the first of `roles` whose group they are in, else as the store has it."""
    groups = claims.get(settings.groups_claim)
    of_token = groups if isinstance(groups, list) else [groups]
    for item in settings.roles:
        if item.group in of_token:
            return Grant(WebRole(item.role), item.owners, item.domains)
    return of_store


def _word(code: Any) -> str:
    """Return an error code of a provider if it is one word, so that nothing else it sends is shown or logged."""
    text = str(code)
    return text if text.isascii() and text.replace("_", "").isalnum() and len(text) <= 40 else "unknown error"


def provider_error(code: str) -> WebError:
    """Return the refusal where the provider sent a browser back with an error instead of a code."""
    return _refused(_word(code))


def _refused(why: str) -> WebError:
    LOG.warning("a sign-in by the identity provider was refused: %s", why)
    message = f"the identity provider did not sign you in: {why}"
    return WebError(401, Problem("sign_in.oidc", message, hint="try again from /sign-in"))


def _unreachable(why: str) -> WebError:
    LOG.error("the identity provider cannot be used: %s", why)
    return WebError(503, Problem("sign_in.oidc_unreachable", f"the identity provider does not answer ({why})"))
