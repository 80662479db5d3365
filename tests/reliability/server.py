"""A process with everything imported that forks one child per command line, so that a run costs no start-up.

It uses one thread and plain-torch kernels: nothing that a fork would break was ever started. Requests and answers are
lines of JSON: {"argv", "out", "log", "kill_at", "env"} → {"pid"}; {"wait": pid} → {"status"}.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.truncate", "os.rmdir"}


def count_operations(folder: str, kill_at: int) -> list[str]:
    """Note every operation on files below `folder`, and die before number `kill_at`."""
    noted: list[str] = []

    def note(what: str, path: object) -> None:
        if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(folder):
            noted.append(f"{what} {Path(path).name}")
            if len(noted) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in OPERATIONS:
            note(event, arguments[0])

    sync = os.fsync

    def fsync(handle: int) -> None:
        note("fsync", Path(f"/proc/self/fd/{handle}").readlink())
        sync(handle)

    os.fsync = fsync
    sys.addaudithook(audit)
    return noted


def child(request: dict[str, Any]) -> None:
    os.setsid()
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(request.get("env", {}))
    sys.argv = ["graphmae", *request["argv"]]
    for number in request.get("ignore", ()):
        signal.signal(number, signal.SIG_IGN)
    if size := request.get("file_size"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    noted = count_operations(request["out"], request.get("kill_at", 0))
    from graphmae.__main__ import main

    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    if operations := request.get("operations"):
        Path(operations).write_text("\n".join(noted))
    os._exit(code)


def main() -> None:
    import torch

    import graphmae.api
    from graphmae.cli import main as _

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    for name in graphmae.api.__all__:
        getattr(graphmae.api, name)
    with tempfile.TemporaryDirectory() as folder:  # imports what is imported late
        small = ["data.num_nodes=60", "train.epochs=1", "encoder.hidden_channels=4", "evaluation.epochs=1"]
        graphmae.api.run("default", out=f"{folder}/run", overrides=small, device="cpu", progress=False)
    print(json.dumps({"ready": True}), flush=True)
    running: set[int] = set()
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            running.discard(request["wait"])
            _, status = os.waitpid(request["wait"], 0)
            answer = {"status": os.waitstatus_to_exitcode(status)}
        else:
            pid = os.fork()
            if not pid:
                child(request)
            running.add(pid)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)
    for pid in running:  # the tests were ended in the middle
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
