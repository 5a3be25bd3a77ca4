"""Find the secrets that stand in the configuration itself: keys of signatures, and addresses that are as good as one.

Whoever knows the address of a chat's webhook or of a heartbeat may use it, wherever in it the token stands. Passwords
in the URLs of sources and of the store are masked by `monitor.terminal.redaction`, by their shape.
"""

from collections.abc import Iterator
from functools import reduce

from monitor.channels import KINDS
from monitor.config.checks import child, entries
from monitor.config.yaml_nodes import Node
from monitor.terminal.redaction import MASK

_TOKEN_LETTERS = 8
"""A path of an address that is shorter is no token; hunting `/hook` through all texts would destroy them."""


def hide_secrets(tree: Node) -> set[str]:
    """Mask every secret at its place, and give what must be masked everywhere else."""
    return {secret for node, address in _places(tree) for secret in _hide(node, address=address)}


def secret_keys() -> set[str]:
    """Return the keys whose values are secret, for lines of a file that cannot be read as YAML.

    `url` is not among them: sources have one too, so in such a line only one of http is masked.
    """
    names = {place.keys[-1] if place.keys else kind.name for kind in KINDS.values() for place in kind.secrets}
    return (names | {"heartbeat_url", "signature_key", "secret", "client_secret"}) - {"url"}


def _places(tree: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the values that are secret, and whether each is an address."""
    for channel in entries(child(child(tree, "alerts"), "channels")).values():
        for kind in KINDS.values():
            for place in kind.secrets:
                node = reduce(child, place.keys, child(channel, kind.name))
                if node is not None:
                    yield node, place.is_address
    heartbeat = child(child(tree, "daemon"), "heartbeat_url")
    if heartbeat is not None:
        yield heartbeat, True
    secret = child(child(tree, "storage"), "signature_key")
    if secret is not None:
        yield secret, False
    for section, key in (("proxy", "secret"), ("oidc", "client_secret")):
        shared = child(child(child(tree, "web"), section), key)
        if shared is not None:
            yield shared, False


def _hide(node: Node, *, address: bool) -> Iterator[str]:
    if isinstance(node.value, dict | list):  # a mistake, but no less a secret
        for inner in entries(node).values() if isinstance(node.value, dict) else node.value:
            yield from _hide(inner, address=address)
        return
    value = "" if node.value is None else str(node.value)
    scheme, colon, rest = value.partition("://")
    if not (address and colon):
        node.masked = MASK
        yield value
        return
    text = MASK
    if scheme in {"http", "https"}:  # its host is no secret, and says where a message goes
        host, slash, path = rest.rpartition("@")[2].partition("/")
        text = f"{host}{slash}{MASK if path else ''}"
        if len(path) >= _TOKEN_LETTERS:
            yield path
    node.masked = f"{scheme}://{text}"
    if text != rest:
        yield rest
