"""Facts stored beside every result: versions, hardware, peak memory."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGES = ("torch", "torch-geometric", "numpy", "scipy", "scikit-learn", "safetensors", "numba", "triton")


def package_version() -> str:
    try:
        return metadata.version("graphmae")
    except metadata.PackageNotFoundError:  # run from src, not installed
        return "0.1.0+src"


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
    """Most memory this process has held: device memory on CUDA, resident memory else."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.max_memory_allocated(torch.device(device)))
    status = Path("/proc/self/status")
    if status.exists():  # there the usage below would count what the process that started this one held, too
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def free_bytes(device: str = "cpu") -> int:
    """Memory that can still be had there; 0 where it is not known."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 0
