"""Opens changed files in a process of its own: limits on time and memory, a watch on what it writes and starts.

python -m hostile.worker FOLDER FIRST COUNT prints a line of JSON for every case.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

SECONDS, GROWTH = 10, 1 << 30
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "pty.spawn")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.link", "os.symlink", "shutil.rmtree")


class TooSlow(BaseException):
    """Not an Exception, so that nothing takes it for a damaged file."""


class Watch:
    """Notes every file opened for writing outside of one folder, and every process started."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seen, self.on = str(folder.resolve()), [], False  # type: ignore[var-annotated]
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in STARTS:
            self.seen.append(f"{event} {arguments[:1]}")
        elif event == "open" and isinstance(arguments[0], str | bytes) and isinstance(arguments[2], int):
            if arguments[2] & WRITES:
                self.check(event, arguments[0])
        elif event in CHANGES:
            self.check(event, arguments[0], arguments[-1])

    def check(self, event: str, path: Any, folder: Any = -1) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            below = f"/proc/self/fd/{folder}" if isinstance(folder, int) and folder >= 0 and event != "os.mkdir" else ""
            real = os.path.realpath(os.path.join(below, os.fsdecode(path)))  # noqa: PTH118
            if not real.startswith(self.folder) and real != os.devnull:
                self.seen.append(f"{event} {real}")


def main(root: Path, first: int, count: int) -> None:
    os.environ["GRAPHMAE_CACHE"], os.environ["GRAPHMAE_TRUST"] = str(root / "user cache"), "1"
    os.environ["GRAPHMAE_OFFLINE"] = "1"
    import logging

    import torch

    from graphmae.runtime.errors import GraphMAEError
    from hostile.kinds import KINDS, digest
    from hostile.mutations import DAMAGING, harmless

    torch.set_num_threads(1)
    logging.getLogger("graphmae").setLevel(logging.CRITICAL)
    whole: dict[str, str] = {}
    for name, kind in KINDS.items():
        (root / "whole" / name).mkdir(parents=True)
        kind.write(root / "whole" / name)
        whole[name] = digest(kind.open(root / "whole" / name))
    watch = Watch(root)
    os.environ["GRAPHMAE_TRUST"] = "0"  # limits on what files unpack to hold; hashes are another test
    from graphmae.data import sources

    sources.is_trusted = lambda: True  # type: ignore[attr-defined]
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TooSlow()))
    pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + GROWTH, pages + GROWTH))
    names = sorted(KINDS)
    for number in range(first, first + count):
        rng = random.Random(number)
        name = names[number % len(names)]
        kind, folder = KINDS[name], root / f"case {number}"
        shutil.copytree(root / "whole" / name, folder)
        file = rng.choice(sorted(path for path in folder.rglob(kind.files) if path.is_file()))
        raw = file.read_bytes()
        changed = harmless(file.name, raw, rng) if rng.random() < 0.1 else None
        matters, how = changed is None, "harmless"
        if changed is None:
            mutation = rng.choice(DAMAGING)
            how, changed = mutation.__name__, mutation(raw, rng) if raw else b"x"
        file.write_bytes(changed)
        case = {"case": number, "kind": name, "file": file.name, "how": how, "matters": matters}
        print(json.dumps({**case, "outcome": "begun"}), flush=True)
        began, watch.seen, watch.on = time.monotonic(), [], True
        signal.alarm(SECONDS)
        try:
            found = digest(kind.open(folder))
            outcome, detail = ("same" if found == whole[name] else "other"), ""
        except GraphMAEError as error:
            outcome, detail = "refused", str(error)
        except TooSlow:
            outcome, detail = "failed", f"over {SECONDS} s"
        except BaseException:
            outcome, detail = "failed", traceback.format_exc()
        signal.alarm(0)
        watch.on = False
        if watch.seen:
            outcome, detail = "failed", f"wrote or started: {watch.seen[:3]}"
        seconds = round(time.monotonic() - began, 3)
        print(json.dumps({**case, "outcome": outcome, "detail": detail[-3000:], "seconds": seconds}), flush=True)
        if outcome != "failed":
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
