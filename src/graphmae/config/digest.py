"""Which settings a published number belongs to, as one short text."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from ..registry import PART_MODULES, find_registry

if TYPE_CHECKING:
    from .schema import Recipe

# Settings that do not change the score a published number is shown beside.
CHANGES_NO_SCORE = {
    "train": ("deterministic", "checkpoint_activations", "workers", "tensorboard"),
    "evaluation": (
        "baselines", "converged", "choose", "every", "supervised_lr", "supervised_weight_decay", "supervised_epochs",
    ),
    "finetune": ("baselines", "refit"),
}  # fmt: skip


def digest_of(recipe: Recipe) -> str:
    """The same for two recipes that give the same score; a default counts as if it were written out."""
    sections = {key: value for key, value in recipe.to_dict().items() if key not in ("about", "published")}
    for section in PART_MODULES:
        part = getattr(recipe, section)
        if part is not None and part.name in find_registry(section).names():
            options = find_registry(section).options(part.name)
            defaults = {key: option.default for key, option in options.items() if option.default is not option.empty}
            sections[section] = {"name": part.name, **defaults, **part.options}
    for section, keys in CHANGES_NO_SCORE.items():
        sections[section] = {key: value for key, value in sections.get(section, {}).items() if key not in keys}
    text = json.dumps(_plain(sections), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """1 and 1.0 are the same setting, and so are a tuple and a list."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
