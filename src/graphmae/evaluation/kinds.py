"""Which rules and baselines apply to which kind of data."""

from __future__ import annotations

from dataclasses import replace

from ..config import Evaluation
from ..data import GraphSet, NodeDataset
from ..runtime.errors import ConfigError, unknown

BASELINES = {"nodes": ("raw", "untrained", "supervised"), "whole graphs": ("raw", "untrained", "wl")}
RULES = {"nodes": ("last", "best-validation"), "whole graphs": ("folds", "chosen")}


def fitted_to(config: Evaluation, dataset: NodeDataset | GraphSet) -> Evaluation:
    """The settings with a rule and baselines that apply; a baseline that does not is refused, not left out.

    A rule for the other kind of data becomes the first one of this kind where it is a default, and is refused where it
    was chosen: "folds" and "chosen" have no meaning for nodes.
    """
    kind = "whole graphs" if isinstance(dataset, GraphSet) else "nodes"
    rule = config.rule
    if rule not in RULES[kind]:
        if kind == "nodes":
            raise ConfigError(f"evaluation.rule = {rule!r} is for sets of graphs; {unknown('rule', rule, RULES[kind])}")
        rule = "folds"
    names = BASELINES[kind] if "all" in config.baselines else config.baselines
    if other := [name for name in names if name not in BASELINES[kind]]:
        raise ConfigError(f"{unknown('baseline', other[0], BASELINES[kind])} ({dataset.name} is evaluated by {kind})")
    return replace(config, rule=rule, baselines=tuple(names))  # type: ignore[arg-type]
