"""A first configuration, and whether everything that is needed is in order."""
