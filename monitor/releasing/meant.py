"""Fingerprint what the configuration says of a release. Cheap to import: the daemon does."""

import hashlib
import json

from monitor.config import Release


def digest_of(name: str, release: Release) -> str:
    """Fingerprint all that the configuration says of a release: 128 bits, so that nobody finds two of the same."""
    said = release.model_dump(mode="json")
    if said["limits"]["unclassified_uniqueness"] is None:  # so that approvals outlive the version that brought it
        del said["limits"]["unclassified_uniqueness"]
    content = json.dumps([name, said], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
