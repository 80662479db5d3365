"""The command line: parses, calls the api, prints. `--help` imports no torch."""

from .main import main

__all__ = ["main"]
