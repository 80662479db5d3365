"""`graphmae …` as a process of its own, forked from one that has imported the libraries and nothing of ours.

Importing PyTorch, PyTorch Geometric and scikit-learn takes seconds, which hundreds of commands would each take again.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import IO, Any

LIBRARIES = ("torch", "torch_geometric", "sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection",
             "scipy.stats", "pandas", "pyarrow.parquet", "numba", "typer", "pydantic", "safetensors.torch")  # fmt: skip


def graphmae(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; killed after five minutes."""
    words, server = list(map(str, arguments)), _server()
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("out", "err")]
        request = (words, str(cwd or Path.cwd()), {**os.environ, **environment}, files)
        assert server.stdin is not None and server.stdout is not None
        pickle.dump(request, server.stdin)
        server.stdin.flush()
        code = pickle.load(server.stdout)
        out, err = (Path(file).read_text(encoding="utf-8") for file in files)
    return subprocess.CompletedProcess(["graphmae", *words], code, out, err)


@cache
def _server() -> subprocess.Popen[bytes]:
    server = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(server.kill)
    return server


def _child(words: list[str], folder: str, environment: dict[str, str], files: list[str]) -> None:
    import runpy
    import traceback

    for number, file in enumerate((os.devnull, *files)):
        handle = os.open(file, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(handle, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if encoding := environment.get("PYTHONIOENCODING"):
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding=encoding)  # type: ignore[union-attr]
    sys.argv, code = ["graphmae", *words], 0
    try:
        runpy.run_module("graphmae", run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    import signal

    for name in LIBRARIES:
        __import__(name)
    while True:
        try:
            request: Any = pickle.load(requests)
        except EOFError:
            return
        pid = os.fork()
        if not pid:
            signal.alarm(300)
            _child(*request)
        pickle.dump(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), answers)
        answers.flush()


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
