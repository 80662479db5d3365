"""python -m graphmae, and the command graphmae."""

from __future__ import annotations

import sys

from .runtime.errors import StopRequest
from .runtime.signals import raise_stop_requests
from .runtime.streams import prepare_streams


def main() -> None:
    """Signals are handled before anything large is imported, so that none ends in a traceback."""
    prepare_streams()
    raise_stop_requests()
    try:
        from .cli import main as run

        run()
    except StopRequest as request:
        sys.stderr.write("stopped\n")
        sys.exit(128 + request.signal)


if __name__ == "__main__":
    main()
