"""Which Tablewatch this is."""


def version() -> str:
    """Return the version of the installed distribution, or say that there is none on record."""
    from importlib import metadata

    try:
        return metadata.version("tablewatch")
    except metadata.PackageNotFoundError:
        return "(not installed)"
