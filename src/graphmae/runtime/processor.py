"""What the processor is and can do, where the system says it (Linux)."""

from __future__ import annotations

from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
ZEN5 = 26  # its family; 25: Zen 3 and 4


def cpu_flags() -> set[str]:
    """What Linux says the processor can do; nothing elsewhere."""
    return set(_field("flags").split())


def is_zen5() -> bool:
    """An AMD processor of that generation or a later one."""
    family = _field("cpu family")
    return _field("vendor_id") == "AuthenticAMD" and family.isdigit() and int(family) >= ZEN5


def _field(name: str) -> str:
    """What the first processor has under a name; empty where it has none."""
    try:
        text = CPUINFO.read_text()
    except OSError:
        return ""
    found = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for key, _, value in found if key.strip() == name), "")
