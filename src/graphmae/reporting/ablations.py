"""The tables of ablations: one thing changed, with the published weight decay and without, and what it shows."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path

from .ledger import SIGNIFICANT, Entry, cell, p_cell, paired, published_cell, read_ledger
from .paper import ABLATION_SETS, ABLATIONS, GRAPH_SETS, MASK_RATES, MAY_DROP_DECAY, NO_DECAY, NODE_SETS, SAME_AS_FULL

ENOUGH = 3  # seeds to choose a weight decay by


def ablation_table(results: Path) -> str:
    """Each row changes one thing of the published settings; ours (95 %), and the paper's figure."""
    ledgers = {name: read_ledger(results / f"ablation-{name}.json") for name in (*ABLATION_SETS, "citeseer")}
    titles = {**NODE_SETS, **GRAPH_SETS}
    names = [titles[name] for name in ledgers]
    out = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for row, title in {"full": "**full method**", **ABLATIONS}.items():
        cells = []
        for name, ledger in ledgers.items():
            if row in SAME_AS_FULL.get(name, ()):
                cells.append("as the full method")
                continue
            entry = ledger.get(row)
            if entry is None:
                cells.append("–")
                continue
            figure = entry.published["mean"] if entry.published else None
            cells.append(f"{cell(entry.scores())}" + (f"; published {figure:g}" if figure else ""))
        out.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(out)


def decay_table(results: Path) -> str:
    """Node sets with and without weight decay; bold is what validation chooses."""
    ledgers = {name: read_ledger(results / f"ablation-{name}.json") for name in ("cora", "pubmed", "citeseer")}
    columns = [f"{NODE_SETS[name]}, {kind}" for name in ledgers for kind in ("published decay", "none", "published")]
    out = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for row, title in {
        "full": "full method",
        **ABLATIONS,
        **{f"rate-{r}": f"mask rate {r}" for r in MASK_RATES},
    }.items():
        cells = []
        for ledger in ledgers.values():
            pair = [ledger.get(row), ledger.get(row + NO_DECAY)]
            chosen = _by_validation(ledger, row) if _has_both(ledger, row) else None
            for entry in pair:
                text = cell(entry.scores()) if entry else "–"
                cells.append(f"**{text}**" if entry and entry is chosen else text)
            cells.append(published_cell(ledger[row].published if row in ledger else None))
        if any(ledger.get(row + NO_DECAY) for ledger in ledgers.values()):
            out.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(out)


def effects_table(results: Path) -> str:
    """For every claim of the paper: is the difference there? Each side has the weight decay validation chooses."""
    claims = {
        "masking helps": ("full", "no-mask"),
        "re-masking helps": ("full", "no-remask"),
        "the scaled cosine error beats MSE": ("full", "mse"),
        "a GNN decoder beats an MLP": ("full", "decoder-mlp"),
        "substituting beats leaving unchanged": ("substitute", "keep"),
    }
    titles = {**NODE_SETS, **GRAPH_SETS}
    out = [
        "| claim | set | published weight decay (95 %) | p | each with its own (95 %) | p | published | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for claim, (better, worse) in claims.items():
        for name in ABLATION_SETS:
            ledger = read_ledger(results / f"ablation-{name}.json")
            first = "full" if better in SAME_AS_FULL[name] else better
            if first not in ledger or worse not in ledger:
                out.append(f"| {claim} | {titles[name]} | – | – | – | – | – | not run yet |")
                continue
            held = [ledger[key].scores() for key in (first, worse)]
            figures = [ledger[key].published for key in (first, worse)]
            gap = f"{figures[0]['mean'] - figures[1]['mean']:+.2f}" if figures[0] and figures[1] else "–"
            if name not in NODE_SETS:  # the published settings have no weight decay
                cells = [*_difference(*held), "the same", "", gap, _verdict(*held)]
            elif all(_has_both(ledger, key) or key not in MAY_DROP_DECAY for key in (first, worse)):
                own = [_by_validation(ledger, key).scores() for key in (first, worse)]
                cells = [*_difference(*held), *_difference(*own), gap, _verdict(*own)]
            else:
                verdict = f"{_verdict(*held)} at the published weight decay; without it not run yet"
                cells = [*_difference(*held), "–", "–", gap, verdict]
            out.append(f"| {claim} | {titles[name]} | {' | '.join(cells)} |")
    return "\n".join(out)


def _has_both(ledger: dict[str, Entry], name: str) -> bool:
    """Whether a row was run with and without weight decay, over enough seeds to choose by."""
    return all(key in ledger and len(ledger[key].scores()) >= ENOUGH for key in (name, name + NO_DECAY))


def _by_validation(ledger: dict[str, Entry], name: str) -> Entry:
    """An ablation with the published weight decay or with none, whichever has the better validation accuracy."""
    entries = [ledger[key] for key in (name, name + NO_DECAY) if key in ledger]
    if len(entries) == 1:
        return entries[0]
    return max(entries, key=lambda entry: entry.mean("pretrained", f"validation-{entry.rule}"))


def _difference(first: list[float], second: list[float]) -> tuple[str, str]:
    if min(len(first), len(second)) < 2:
        return "–", "–"
    difference, width, p = paired(first, second)
    return f"{difference:+.2f} ± {width:.2f}", p_cell(p)


def _verdict(first: list[float], second: list[float]) -> str:
    if min(len(first), len(second)) < 2:
        return "too few seeds"
    difference, _, p = paired(first, second)
    return "not confirmed" if p >= SIGNIFICANT else "confirmed" if difference > 0 else "opposite"


def curve_table(results: Path, kind: str, values: Iterable[float]) -> str:
    """The numbers of a figure."""
    values, titles = list(values), {**NODE_SETS, **GRAPH_SETS}
    label = {"rate": "mask rate", "gamma": "γ"}[kind]
    out = [f"| {label} | seeds | {' | '.join(f'{value:g}' for value in values)} |", "|---" * (len(values) + 2) + "|"]
    for name in ABLATION_SETS:
        ledger = read_ledger(results / f"ablation-{name}.json")
        for ending, title in (("", titles[name]), (NO_DECAY, f"{titles[name]}, no weight decay")):
            keys = [f"{kind}-{value}{ending}" for value in values]
            scores = [ledger[key].scores() if key in ledger else [] for key in keys]
            if any(scores):
                seeds = max(len(each) for each in scores)
                cells = [f"{statistics.fmean(each):.1f}" if each else "–" for each in scores]
                out.append(f"| {title} | {seeds} | {' | '.join(cells)} |")
    return "\n".join(out)
