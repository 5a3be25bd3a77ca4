"""The daemon: what `tablewatch run` does for months."""
