"""Changes to a file: most of them damage it, some cannot matter."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import random
import re
import zipfile

NUMBERS = ("-1", "0", "1e30", "NaN", "99999999999", "1e400", "null", "true", '"x"', "[]", "{}", "1e-320", "2147483648")


def flip_bits(raw: bytes, rng: random.Random) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def flip_early(raw: bytes, rng: random.Random) -> bytes:
    """Headers are at the beginning."""
    out = bytearray(raw)
    out[rng.randrange(min(len(out), 200))] ^= 1 << rng.randrange(8)
    return bytes(out)


def flip_late(raw: bytes, rng: random.Random) -> bytes:
    """Directories of archives and footers are at the end."""
    out = bytearray(raw)
    out[-1 - rng.randrange(min(len(out), 200))] = rng.randrange(256)
    return bytes(out)


def truncate(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw))]


def duplicate(raw: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.sample(range(len(raw) + 1), 2))
    return raw[:b] + raw[a:b] + raw[b:]


def splice(raw: bytes, rng: random.Random) -> bytes:
    """A piece of the file somewhere else in it."""
    a, b = sorted(rng.sample(range(len(raw) + 1), 2))
    at = rng.randrange(len(raw))
    return raw[:at] + raw[a:b] + raw[at + (b - a) :]


def zero(raw: bytes, rng: random.Random) -> bytes:
    a, b = sorted(rng.sample(range(len(raw) + 1), 2))
    b = min(b, a + 200)
    return raw[:a] + bytes(b - a) + raw[b:]


def cut_out(raw: bytes, rng: random.Random) -> bytes:
    a = rng.randrange(len(raw))
    return raw[:a] + raw[a + rng.randrange(1, 50) :]


def edit_number(raw: bytes, rng: random.Random) -> bytes:
    """Another number, or something else, where a number stands in text; in binary files the largest bytes."""
    found = list(re.finditer(rb"(?<![\w.])-?\d+(\.\d+)?(?![\w.])", raw))
    if not found:
        at = rng.randrange(len(raw))
        return raw[:at] + b"\xff" * 4 + raw[at + 4 :]
    match = rng.choice(found)
    return raw[: match.start()] + rng.choice(NUMBERS).encode() + raw[match.end() :]


def edit_json(raw: bytes, rng: random.Random) -> bytes:
    """A value replaced, removed or nested, where the file is JSON; else a number edited."""
    try:
        value = json.loads(raw)
    except (ValueError, UnicodeDecodeError):
        return edit_number(raw, rng)
    places: list[tuple[dict | list, object]] = []

    def walk(part: object) -> None:
        if isinstance(part, dict | list):
            for key in part if isinstance(part, dict) else range(len(part)):
                places.append((part, key))
                walk(part[key])  # type: ignore[index]

    walk(value)
    if not places:
        return edit_number(raw, rng)
    part, key = rng.choice(places)
    how = rng.randrange(4)
    if how == 0:
        del part[key]  # type: ignore[attr-defined]
    elif how == 1:
        part[key] = [part[key]]  # type: ignore[index]
    else:
        part[key] = rng.choice(VALUES)  # type: ignore[index]
    return json.dumps(value).encode()


def nested(levels: int) -> object:
    value: object = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


# What stands where something else should: other types, numbers beyond what floats and 64 bits hold, half a character.
VALUES = [
    None, "x", -1, 0, 10**9, 1e30, True, [], {}, [[]], {"name": []}, "../../x", 0.5, 10**400, -(2**63), 1e308, -1e308,
    1e-320, float("nan"), float("inf"), "\ud800", "\udcff/x", "\0", "x" * 100_000, nested(15), nested(500),
    [1e308, 1e308], ["a", "a"], {"\ud800": 1}, 5, "5", 10**6,
]  # fmt: skip


def inside(raw: bytes, rng: random.Random) -> bytes:
    """The content of an archive changed, and packed again as it should be; else bits flipped."""
    if raw[:2] == b"\x1f\x8b":
        return gzip.compress(rng.choice((flip_bits, edit_number, truncate, splice))(gzip.decompress(raw), rng))
    if raw[:4] == b"PK\x03\x04":
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
            chosen = rng.choice(old.namelist())
            for name in old.namelist():
                content = old.read(name)
                if name == chosen and content:
                    content = rng.choice((flip_bits, edit_number, truncate, splice, flip_early))(content, rng)
                new.writestr(name, content)
        return out.getvalue()
    return flip_bits(raw, rng)


DAMAGING = [
    flip_bits, flip_early, flip_late, truncate, duplicate, splice, zero, cut_out, edit_number, edit_json, inside, inside
]  # fmt: skip


def harmless(name: str, raw: bytes, rng: random.Random) -> bytes | None:
    """A change that must not matter, for a file of this name; None where there is none."""
    if name.endswith(".json"):
        return json.dumps(json.loads(raw), indent=rng.choice((None, 1, 7))).encode() + b"\n" * rng.randrange(3)
    if name.endswith(".toml"):
        return b"# a remark\n\n" + raw + b"\n# another\n"
    if name.endswith(".csv"):
        return rng.choice((raw.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + raw, raw.rstrip(b"\n")))
    if name.endswith((".jsonl", ".smi", ".txt")):
        return raw + b"\n" if rng.random() < 0.5 else raw.replace(b"\n", b"\r\n")
    if name.endswith(".gz"):
        return gzip.compress(gzip.decompress(raw), rng.randrange(10))
    if name.endswith((".npz", ".xlsx", ".zip")):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w", rng.choice((0, 8))) as new:
            names = old.namelist() if name.endswith(".xlsx") else old.namelist()[::-1]
            for member in names:
                new.writestr(member, old.read(member))
        return out.getvalue()
    if name.endswith(".safetensors"):
        length = int.from_bytes(raw[:8], "little")
        header = raw[8 : 8 + length].rstrip() + b" " * (8 * rng.randrange(1, 9))
        header += b" " * (-len(header) % 8)
        return len(header).to_bytes(8, "little") + header + raw[8 + length :]
    if name.startswith("ind.") and not name.endswith("index"):
        value = pickle.loads(raw, encoding="latin1")  # made by the test itself
        return pickle.dumps(value, protocol=rng.randrange(6))
    return None
