"""The README of a checkpoint: what it is, what it was trained on, how it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..finetuning.predictor import Predictor
from ..methods import Method


def card(model: Method, config: Mapping[str, Any]) -> str:
    """Of a pre-trained model."""
    count = sum(p.numel() for p in model.encoder.parameters())
    lines = ["graphmae embed this-folder DATA -o z.npy"]
    if config["inputs"].get("features") == "molecule":
        lines.append("graphmae finetune this-folder assay.csv --smiles SMILES --targets A,B")
    use = "\n".join(lines)
    return (
        f"# {type(model).__name__} encoder: {config['encoder']['name']}\n\n"
        f"A graph encoder of {count:,} parameters, pre-trained without labels (method: {config['method']['name']}) "
        f"with graphmae {config['graphmae']}. It takes {model.encoder.in_channels} features per node and gives "
        f"{model.encoder.out_channels}.\n\n"
        f"{_trained_on(config['trained_on'])}"
        '```python\nimport graphmae as gm\n\nmodel = gm.load("this-folder")\nz = gm.embed(model, data)\n```\n\n'
        f"```\n{use}\n```\n\n"
        f"{_options(config)}\n\n"
        f"Features were treated as: `{dict(config['inputs']) or 'handed in'}`. "
        "How it was trained: `recipe.json` of the run; how it scores: its `result.json`, where it was evaluated.\n"
    )


def predictor_card(predictor: Predictor, config: Mapping[str, Any]) -> str:
    """Of a fine-tuned model."""
    gives = "probabilities of class 1" if predictor.kind == "classification" else "numbers"
    names = ", ".join(f"`{name}`" for name in predictor.names[:20])
    more = f" and {len(predictor.names) - 20} more" if len(predictor.names) > 20 else ""
    scores = "\n".join(f"| {key} | {value:.4g} |" for key, value in config["scores"].items())
    return (
        f"# A fine-tuned GraphMAE model\n\n"
        f"Predicts {gives} for {names}{more} from SMILES, with graphmae {config['graphmae']}.\n\n"
        "```\ngraphmae predict this-folder new.csv -o predictions.csv\n```\n\n"
        f"{_trained_on(config['trained_on'])}"
        f"| {config['metric']} | |\n|---|---|\n{scores}\n\n{_options(config)}\n"
    )


def _trained_on(facts: Mapping[str, Any]) -> str:
    if not facts:
        return ""
    facts_shown = (
        f"{key.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{key.replace('_', ' ')}: {value}"
        for key, value in facts.items()
    )
    return f"Trained on: {'; '.join(facts_shown)}.\n\n"


def _options(config: Mapping[str, Any]) -> str:
    rows = "\n".join(f"| {key} | {value} |" for key, value in config["encoder"].items() if key != "name")
    return f"| encoder option | value |\n|---|---|\n{rows}"
