"""Texts: Jinja2 templates and message catalogues. No code lives here."""
