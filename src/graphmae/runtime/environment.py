"""Facts stored beside every result: versions, hardware, peak memory."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from .version import __version__

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

PACKAGES = ("torch", "torch-geometric", "numpy", "scipy", "scikit-learn", "safetensors", "numba", "triton")
NO_LIMIT = 1 << 60  # what version 1 of control groups writes for none is near 2^63


def package_version() -> str:
    return __version__


@cache
def commit() -> str:
    """The commit this code is of: from a checkout, or GRAPHMAE_COMMIT; with "+changes" where files differ from it."""
    if named := os.environ.get("GRAPHMAE_COMMIT"):
        return named
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        tracked = git("ls-files", "--error-unmatch", str(Path(__file__)))
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "..") else "") if tracked else ""
    except (OSError, subprocess.SubprocessError):
        return ""


def versions() -> dict[str, str]:
    """Versions of graphmae, Python and everything that can change a number."""
    found = {"graphmae": package_version(), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def environment_facts(device: str, seconds: float) -> dict[str, Any]:
    """What is stored beside something that was trained for so long."""
    facts = {"hardware": hardware(device), "versions": versions(), "commit": commit()}
    return {**facts, "seconds": seconds, "peak_bytes": peak_bytes(device)}


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cpu_count() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def hardware(device: str = "cpu") -> str:
    """One line that names what computed: 'NVIDIA H200' or 'AMD EPYC, 2 cores'."""
    if device.startswith("cuda"):
        import torch

        return str(torch.cuda.get_device_name(torch.device(device)))
    return f"{cpu_name()}, {cpu_count()} cores"


def peak_bytes(device: str = "cpu") -> int:
    """Most memory this process has held: device memory on CUDA, resident memory else; 0 where it is not known."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.max_memory_allocated(torch.device(device)))
    status = Path("/proc/self/status")
    if status.exists():  # there the usage below would count what the process that started this one held, too
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def free_bytes(device: str = "cpu") -> int:
    """Memory that can still be had there, limits of a container or of the process included; 0 where it is not known."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    known = [_available(), _left_in_group(), _left_of_limit()]
    return min((size for size in known if size is not None), default=0)


def _available() -> int | None:
    found = re.search(r"^MemAvailable: +(\d+) kB", _text(Path("/proc/meminfo")), re.MULTILINE)
    return 1024 * int(found[1]) if found else None


def _left_in_group(own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What is left of the tightest limit of the control groups this process is in (version 2, or 1)."""
    left = []
    for line in _text(own).splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            base, limit, used = root, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, used = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        group = base / path.lstrip("/")
        while group == base or base in group.parents:
            most, now = _text(group / limit).strip(), _text(group / used).strip()
            if most.isdigit() and now.isdigit() and int(most) < NO_LIMIT:
                cache = re.search(r"^(?:total_)?inactive_file (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
                left.append(max(0, int(most) - int(now) + (int(cache[1]) if cache else 0)))
            group = group.parent
    return min(left, default=None)


def _left_of_limit() -> int | None:
    """What is left of a limit on the address space (ulimit -v)."""
    if resource is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _text(Path("/proc/self/statm")).split()
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return max(0, limit - int(pages[0]) * resource.getpagesize())


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
