"""Strict reading of recipes: every problem at once, each with what is allowed.

Precedence, stated once: defaults < `extends` < the recipe < `--set`.
"""

from __future__ import annotations

import logging
import re
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from ..registry import find_registry
from ..runtime.errors import ConfigError, unknown
from ..runtime.structure import shown
from ..runtime.values import mismatch, parse_value
from . import static
from .library import find, read_text
from .schema import MASK_KEYS, PARTS, About, Embedding, Evaluation, Finetune, Part, Published, Recipe, Supervised, Train

PLAIN = {
    "about": About,
    "train": Train,
    "embedding": Embedding,
    "evaluation": Evaluation,
    "finetune": Finetune,
    "supervised": Supervised,
    "published": Published,
}
OPTIONAL = ("finetune", "supervised", "published")
OF_METHOD = ("mask", "decoder", "loss")  # parts that a method may have or not
DEFAULT_METHOD = "graphmae"
logger = logging.getLogger("graphmae")


def load(source: str | Path | Mapping[str, Any], overrides: Iterable[str] = ()) -> Recipe:
    """A recipe id ('node/cora'), a TOML file or a dictionary → a checked `Recipe`."""
    if isinstance(source, Mapping):
        name, raw = "recipe", dict(source)
    else:
        path, name = find(source)
        raw = _read(path)
    raw, changes = _extended(raw), assigned(overrides)
    if changes and "published" in raw:  # the number belongs to the recipe as it was before the changes
        figure = parse(raw, name).published
        del raw["published"]
        raw |= {"published": asdict(figure)} if figure is not None else {}
    return parse(merge(raw, changes), name)


def check_used(overrides: Iterable[str], used: Iterable[str], what: str) -> None:
    """Refuse overrides of keys that are not looked at: better an error than a setting without effect.

    `used` are sections, or single keys.
    """
    allowed = list(used)
    for text in overrides:
        key = text.partition("=")[0].strip()
        section = key.partition(".")[0]
        if section in (*PLAIN, *PARTS) and section not in allowed and key not in allowed:
            shown = ", ".join(name if "." in name else f"{name}.*" for name in allowed)
            raise ConfigError(f"{what} does not use {key}, so it would have no effect. Allowed: {shown}")


def parse(raw: Mapping[str, Any], name: str) -> Recipe:
    """Check a nested dictionary in the layout of the TOML file; raises `ConfigError` with all problems."""
    problems: list[str] = []
    for section in raw:
        if section not in PLAIN and section not in PARTS:
            problems.append(unknown("section", section, [*PLAIN, *PARTS]))
        elif not isinstance(raw[section], Mapping):
            problems.append(f"[{section}] must be a table, not {raw[section]!r}")
    good = {key: dict(value) for key, value in raw.items() if isinstance(value, Mapping)}

    values: dict[str, Any] = {}
    for section, cls in PLAIN.items():
        if section in good or section not in OPTIONAL:
            values[section] = _plain(section, cls, good.get(section, {}), problems)
    left_out = _unused(good.get("method", {}))
    for section in OF_METHOD:
        if section in left_out and section in good:
            problems.append(f"[{section}] is not used by the method {good['method']['name']!r}; leave it out")
    mask, method, method_name = good.get("mask", {}), good.get("method", {}), _method_of(good)
    written = [key for key in MASK_KEYS if key in mask]
    problems += [f"method.{key} is written as mask.{key}" for key in MASK_KEYS if key in method and "mask" in good]
    method |= {key: mask.pop(key) for key in written}
    for section in PARTS:
        if section not in left_out:
            found: list[str] = []
            own = method if section == "method" else _completed(section, good.get(section, {}), method_name)
            values[section] = None if own is None else _part(section, own, found)
            problems += [_where_written(text, written) for text in found]
    if problems:
        raise ConfigError(problems, name)
    return Recipe(id=name, **values)


def stored_problems(recipe: Mapping[str, Any]) -> list[str]:
    """What is wrong with the sections of a recipe that a run has stored, and with the types of their keys.

    Keys and names may be those of another version.
    """
    found = []
    for section in recipe.keys() & {*PLAIN, *PARTS}:
        values = recipe[section]
        hints = typing.get_type_hints(PLAIN[section]) if section in PLAIN else {"name": str}
        if not isinstance(values, Mapping):
            found.append(f"[{section}] must be a table, not {shown(values)}")
            continue
        checked = {key: mismatch(values[key], hints[key]) for key in values.keys() & hints.keys()}
        found += [f"{section}.{key} {wrong:.300}" for key, wrong in checked.items() if wrong]
    return sorted(found)


def check_early(source: str | Path, overrides: Iterable[str] = (), own_parts: bool = False) -> None:
    """Refuse a recipe ("": none) and overrides that cannot be right, without importing parts.

    `own_parts` may have other options. What passes is checked in full by `load`.
    """
    if source:
        path, name = find(source)
        raw = {key: value for key, value in _read(path).items() if key != "extends" and isinstance(value, Mapping)}
        if problems := _early_problems(raw, own_parts):
            raise ConfigError(problems, name)
    if problems := _early_problems(assigned(overrides), own_parts):
        raise ConfigError(problems)


def _early_problems(sections: Mapping[str, Mapping[str, Any]], own_parts: bool) -> list[str]:
    problems: list[str] = []
    for section, values in sections.items():
        if section in PLAIN:
            wrong = _wrong_values(section, PLAIN[section], values)
            problems += wrong or _out_of_range(section, PLAIN[section], values)
        elif section not in PARTS:
            problems.append(unknown("section", section, [*PLAIN, *PARTS]))
        elif not own_parts:
            options = {*static.part_options(section), *(MASK_KEYS if section == "mask" else ())}
            problems += [unknown(f"{section} option", key, options - {"name"}) for key in values if key not in options]
            name, names = values.get("name"), static.part_names(section)
            problems += [unknown(section, name, names)] if isinstance(name, str) and name not in names else []
    return problems


def apply_overrides(raw: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """`section.key=value`, several, onto a recipe's dictionary."""
    return merge(raw, assigned(assignments))


def assigned(assignments: Iterable[str]) -> dict[str, dict[str, Any]]:
    """section → key → value."""
    changes: dict[str, dict[str, Any]] = {}
    problems = []
    for assignment in [assignments] if isinstance(assignments, str) else assignments:
        key, equals, text = assignment.partition("=")
        section, dot, option = key.strip().partition(".")
        if not (equals and dot and section and option):
            problems.append(f"override {assignment!r} is not of the form section.key=value{_meant(key.strip(), text)}")
        else:
            changes.setdefault(section, {})[option] = parse_value(text.strip())
    if problems:
        raise ConfigError(problems)
    return changes


def _meant(key: str, value: str) -> str:
    """The sections that have a key which was given without one, pre-training's first."""
    plain = [section for section, cls in PLAIN.items() if key in {f.name for f in fields(cls)}]
    parts = [section for section in PARTS if key in static.part_options(section)]
    found = sorted([*plain, *parts], key=lambda section: (section != "train", section == "method", section in plain))
    ways = " or ".join(f"{section}.{key}={value.strip()}" for section in found[:3])
    return f"; did you mean {ways}?" if found else ""


def _extended(raw: dict[str, Any]) -> dict[str, Any]:
    base = raw.pop("extends", None)
    if base is None:
        return raw
    if not isinstance(base, str):
        raise ConfigError(f"extends must be a recipe id or a file, not {base!r}")
    path, name = find(base)
    parent = _read(path)
    if "extends" in parent:
        raise ConfigError(f"{name} itself extends another recipe; only one level is allowed")
    parent.pop("published", None)  # the paper's number is for its own settings
    return merge(parent, raw)


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes win. Where they name another part, options the new part does not know are left behind.

    Where they name another method, settings that were written for the recipe's method do not replace the defaults of
    the new one.
    """
    out = {k: dict(v) if isinstance(v, Mapping) else v for k, v in base.items()}
    registry, before = find_registry("method"), _method_of(base)
    method = _method_of(changes, before)
    if before != method and {before, method} <= {*registry.names()}:
        changes = _with_defaults(out, changes, before, method)
    for section, change in changes.items():
        old = out.get(section)
        if not isinstance(old, dict) or not isinstance(change, Mapping):
            out[section] = change
            continue
        if section in PARTS and change.get("name", old.get("name")) != old.get("name"):
            parts = find_registry(section)
            if change["name"] in parts.names():
                known = {*parts.options(change["name"]), *MASK_KEYS}
                old = {key: value for key, value in old.items() if key in known}
        if section == "published":  # a number given with the changes is for these settings
            old.pop("settings", None)
        out[section] = {**old, **change}
    return out


def _method_of(sections: Mapping[str, Any], otherwise: str = DEFAULT_METHOD) -> str:
    method = sections.get("method")
    return str(method.get("name", otherwise)) if isinstance(method, Mapping) else otherwise


def _with_defaults(out: dict[str, Any], changes: Mapping[str, Any], before: str, method: str) -> dict[str, Any]:
    """Take out of a recipe, in place, what was written for the method `before` and is not for `method`.

    A part or an option stays where both methods have the same default for it: the recipe replaces the default of
    either. Returns the changes with what the new method sets for the recipe's task.
    """
    registry: Any = find_registry("method")
    lost: list[str] = []
    task = out.get("about", {}).get("task", About.task)
    for_task = assigned(getattr(registry.get(method), "of_task", {}).get(task, ()))
    changes = {**changes, **{section: {**usual, **changes.get(section, {})} for section, usual in for_task.items()}}
    options = {key: value for key, value in out.get("method", {}).items() if key != "name"}
    options |= {key: out["mask"].pop(key) for key in MASK_KEYS if key in out.get("mask", {})}
    for section in OF_METHOD:
        old_part, new_part = (registry.own_parts(name).get(section) for name in (before, method))
        if section not in registry.takes(method):
            if section not in changes:
                out.pop(section, None)
        elif section in out and registry.has_default(method, section) and (new_part is None or new_part != old_part):
            written = out.pop(section)
            if "name" not in changes.get(section, {}):
                lost.append(f"its own {section} ({_shown(new_part)}) instead of the recipe's ({_shown(written)})")
    old_options, new_options = registry.options(before), registry.options(method)
    set_now = {**changes.get("mask", {}), **changes.get("method", {})}
    for key in [key for key in options if key not in old_options or key not in new_options or
                old_options[key].default != new_options[key].default]:  # fmt: skip
        value = options.pop(key)
        if key in new_options and key not in set_now:
            lost.append(f"its own {key} ({new_options[key].default}) instead of the recipe's ({value})")
    in_mask = MASK_KEYS if "mask" in out or "mask" in changes else ()
    out["method"] = {"name": before, **{key: value for key, value in options.items() if key not in in_mask}}
    if in_mask:
        out["mask"] = {**out.get("mask", {}), **{key: value for key, value in options.items() if key in in_mask}}
    if lost:
        logger.info("the method %s keeps %s; --set changes it", method, ", ".join(lost))
    return changes


def _shown(part: Mapping[str, Any] | None) -> str:
    """A section of a recipe in one line."""
    if part is None:
        return "made by its constructor"
    options = [f"{key} {value}" for key, value in part.items() if key not in ("name", *MASK_KEYS)]
    return ", ".join([str(part.get("name", "")), *options])


def _unused(method: Any) -> list[str]:
    """Sections of parts a method does not have; none where its name is not known."""
    registry, name = find_registry("method"), method.get("name") if isinstance(method, Mapping) else None
    return [s for s in OF_METHOD if s not in registry.takes(name)] if name in registry.names() else []


def _where_written(problem: str, keys: Iterable[str]) -> str:
    """A problem of an option of the method, named as the recipe has it."""
    named = problem.startswith("method.") and problem.removeprefix("method.").startswith(tuple(keys))
    return problem.replace("method.", "mask.", 1) if named else problem


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except RecursionError:
        raise ConfigError("not a recipe: it is nested too deep", str(path)) from None
    except ConfigError:
        raise
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise ConfigError(f"not valid TOML: {error}", str(path)) from None


def _plain(section: str, cls: type, raw: dict[str, Any], problems: list[str]) -> Any:
    before = len(problems)
    problems += _wrong_values(section, cls, raw)
    problems += [f"[{section}] needs the key {key!r}" for key in _required(cls) if key not in raw]
    if len(problems) > before:
        return None
    made = cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in raw.items()})
    problems += made.problems() if hasattr(made, "problems") else []
    return made


def _wrong_values(section: str, cls: type, raw: Mapping[str, Any]) -> list[str]:
    """Keys a plain section does not have, and values of another type than its own."""
    hints, problems = typing.get_type_hints(cls), []
    for key, value in raw.items():
        if key not in hints:
            problems.append(unknown("key", f"{section}.{key}", [f"{section}.{h}" for h in hints]))
        elif wrong := mismatch(value, hints[key]):
            problems.append(f"{section}.{key} {wrong}")
    return problems


def _out_of_range(section: str, cls: type, raw: Mapping[str, Any]) -> list[str]:
    """What is wrong with these values alone, whatever a recipe says of the others."""
    if not hasattr(cls, "problems") or not raw.keys() >= {*_required(cls)}:
        return []
    found: list[str] = cls(**{key: tuple(v) if isinstance(v, list) else v for key, v in raw.items()}).problems()
    return [text for text in found if {*re.findall(rf"\b{section}\.(\w+)", text)} <= raw.keys()]


def _required(cls: type) -> list[str]:
    return [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]


def _completed(section: str, raw: dict[str, Any], method: str) -> dict[str, Any] | None:
    """A section that names no part, with the one the method has by default; None where only the method can make it."""
    registry: Any = find_registry("method")
    if section not in OF_METHOD or "name" in raw or method not in registry.names():
        return raw
    part = registry.own_parts(method).get(section)
    return None if part is None and not raw and registry.has_default(method, section) else {**(part or {}), **raw}


def _part(section: str, raw: dict[str, Any], problems: list[str]) -> Part:
    name = raw.pop("name", DEFAULT_METHOD if section == "method" else None)
    if not isinstance(name, str):
        problems.append(f"[{section}] needs a name. Allowed: {', '.join(find_registry(section).names())}")
        return Part("")
    problems += find_registry(section).problems(name, raw)
    return Part(name, raw)
