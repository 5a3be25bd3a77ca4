"""What the configuration means by a release, and a fingerprint of it. Cheap to import: the daemon does."""

import hashlib
import json

from monitor.config import Config, Release


def release_meant(config: Config, name: str) -> Release:
    """Give a release; where it classifies no column, as its table does."""
    release = config.releases[name]
    table = config.table(release.table)
    if release.columns or table is None:
        return release
    return release.model_copy(update={"columns": table.columns})


def digest_of(name: str, release: Release) -> str:
    """Fingerprint all that the configuration says of a release: 128 bits, so that nobody finds two of the same."""
    said = release.model_dump(mode="json")
    content = json.dumps([name, said], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
