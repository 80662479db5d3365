"""The version: pyproject.toml, the site and every result read it from here."""

__version__ = "0.1.0"
