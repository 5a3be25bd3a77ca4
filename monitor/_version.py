"""Which Tablewatch this is."""

from importlib import metadata


def version() -> str:
    """Give the version of the installed distribution, or say that there is none on record."""
    try:
        return metadata.version("tablewatch")
    except metadata.PackageNotFoundError:
        return "(not installed)"
