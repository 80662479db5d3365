"""What the processor is and can do, where the system says it (Linux)."""

from __future__ import annotations

from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def cpu_flags() -> set[str]:
    """What Linux says the processor can do; nothing elsewhere."""
    return set(_field("flags").split())


def is_amd() -> bool:
    return _field("vendor_id") == "AuthenticAMD"


def _field(name: str) -> str:
    """What the first processor has under a name; empty where it has none."""
    try:
        text = CPUINFO.read_text()
    except OSError:
        return ""
    found = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for key, _, value in found if key.strip() == name), "")
