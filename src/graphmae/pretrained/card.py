"""The README of a checkpoint: what it is, what it was trained on, how it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..finetuning.automatic import AutomaticPredictor
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
        f"{_features(config['inputs'])}"
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


def automatic_card(predictor: AutomaticPredictor, config: Mapping[str, Any]) -> str:
    """Of a predictor made of several models."""
    gives = "probabilities of class 1" if predictor.kind == "classification" else "numbers with intervals"
    names = ", ".join(f"`{name}`" for name in predictor.names[:20])
    more = f" and {len(predictor.names) - 20} more" if len(predictor.names) > 20 else ""
    rows = []
    for name, scores in config["scores"].items():
        weight = predictor.weights.get(name)
        share = f"{100 * weight:.0f} %" if weight else "–"
        cells = (f"{scores[key]:.4g}" if key in scores else "–" for key in ("inner", "test"))
        rows.append(f"| {name} | {'' if name == 'automatic' else share} | {' | '.join(cells)} |")
    table = "\n".join([f"| model | share | {config['metric']}, inner folds | {config['metric']}, test part |",
                       "|---|---|---|---|", *rows])  # fmt: skip
    return (
        f"# A predictor of molecules\n\n"
        f"Predicts {gives} for {names}{more} from SMILES, with graphmae {config['graphmae']}. It is made of the models "
        "below that have a share, which were chosen by their predictions for training molecules they had not seen.\n\n"
        "```\ngraphmae predict this-folder new.csv -o predictions.csv\n```\n\n"
        f"{_trained_on(config['trained_on'])}{table}\n\n{_options(config)}\n"
    )


def _trained_on(facts: Mapping[str, Any]) -> str:
    if not facts:
        return ""
    facts_shown = (
        f"{key.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{key.replace('_', ' ')}: {value}"
        for key, value in facts.items()
        if key not in ("ended", "selected")
    )
    ended = f"Training {facts['ended']}.\n\n" if "ended" in facts else ""
    ended += f"Settings were selected by labels: {facts['selected']}.\n\n" if "selected" in facts else ""
    return f"Trained on: {'; '.join(facts_shown)}.\n\n{ended}"


def _features(inputs: Mapping[str, Any]) -> str:
    """How features were treated: kinds of columns and counts. Their names, words and values are for config.json."""
    if not inputs:
        return "Features were handed in as they are.\n\n"
    if "columns" not in inputs:
        plain = ", ".join(f"{k.replace('_', ' ')}: {v}" for k, v in inputs.items() if not isinstance(v, list | dict))
        more = " Their scale is in `config.json`." if any(isinstance(v, list | dict) for v in inputs.values()) else ""
        return f"Features were treated as: {plain}.{more}\n\n"
    of_kind: dict[str, list[Mapping[str, Any]]] = {}
    for column in inputs["columns"]:
        of_kind.setdefault(column["kind"], []).append(column)
    rows = [f"| {kind} | {len(columns)} | {_learned(columns)} |" for kind, columns in sorted(of_kind.items())]
    rows += ["| structure of the graph | | |"] if inputs.get("structure") else []
    rows += [f"| kinds of edges | | {len(inputs['edge_kinds'])} |"] if inputs.get("edge_kinds") else []
    further = inputs.get("edge_columns", {})
    rows += [f"| {role} of edges | 1 | scale |" for role in ("weight", "time") if role in further]
    rows += [f"| columns of edges | {len(further['columns'])} | |"] if further.get("columns") else []
    table = "\n".join(["| features | columns | learned |", "|---|---|---|", *rows])
    values = "categories and words as hashes" if inputs.get("private") else "categories and words"
    return f"{table}\n\nOf columns, `config.json` has names, scales, {values}: see docs/own-graph.md.\n\n"


def _learned(columns: list[Mapping[str, Any]]) -> str:
    """'10 categories', '71 words': counts over the columns of a kind."""
    names = {"levels": "categories", "words": "words"}
    counts = {name: sum(len(column.get(key, ())) for column in columns) for key, name in names.items()}
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or (
        "–" if columns[0]["kind"] == "boolean" else "scale"
    )


def _options(config: Mapping[str, Any]) -> str:
    rows = "\n".join(f"| {key} | {value} |" for key, value in config["encoder"].items() if key != "name")
    return f"| encoder option | value |\n|---|---|\n{rows}"
