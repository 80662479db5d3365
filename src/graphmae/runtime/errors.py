"""The errors a user can cause. `InputError` means exit code 2: the input or the configuration is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GraphMAEError(Exception):
    """Base of all errors graphmae raises on purpose; the command line prints them without a traceback."""

    exit_code = 1


class InputError(GraphMAEError, ValueError):
    """Something the user handed in is wrong: a file, a graph, an argument."""

    exit_code = 2


class ConfigError(InputError):
    """A recipe or an override is wrong. Carries every problem found, not just the first."""

    def __init__(self, problems: str | Iterable[str], source: str = "") -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        prefix = f"{source}: " if source else ""
        if len(self.problems) == 1:
            text = prefix + self.problems[0]
        else:
            text = f"{prefix}{len(self.problems)} problems\n" + "\n".join(f"  - {p}" for p in self.problems)
        super().__init__(text)


class DataError(InputError):
    """A graph or a data file is missing, broken or inconsistent."""


class NotFinite(GraphMAEError):
    """A loss or weights became NaN or infinite."""


class WriteError(GraphMAEError, OSError):
    """A file could not be written: no space, a read-only folder, no permission, a failing disk."""


class Interrupted(GraphMAEError):
    """A signal asked for a stop (2: Ctrl-C, 15: SIGTERM, 1: SIGHUP): the state was saved, the run can be resumed."""

    def __init__(self, message: str, signal: int = 2) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal


class StopRequest(BaseException):
    """A signal arrived where nothing has to be saved first. Like KeyboardInterrupt it passes `except Exception`."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


class WorkerStop(StopRequest, SystemExit):
    """The same in a worker process, where one that waits for work ends without a traceback."""


MOST_LISTED = 40


def unknown(what: str, name: str, allowed: Iterable[str]) -> str:
    """What is wrong with a name, and what it may have been meant to be; of many names, those that resemble it.

    >>> unknown("encoder", "gta", ["gat", "gcn", "gin"])
    "unknown encoder 'gta'; did you mean 'gat'? Allowed: gat, gcn, gin"
    """
    allowed = sorted(allowed)
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    listed = allowed
    if len(allowed) > MOST_LISTED:
        alike = [other for other in allowed if name in other]
        listed = (alike or difflib.get_close_matches(name, allowed, n=10, cutoff=0.3))[:MOST_LISTED]
        close = [] if len(alike) > 1 else close
    hint = f"; did you mean {close[0]!r}?" if close else "."
    names = ", ".join(listed) or "none"
    if len(listed) < len(allowed):
        return f"unknown {what} {name!r}{hint} Of {len(allowed)} known: {names}"
    return f"unknown {what} {name!r}{hint} Allowed: {names}"
