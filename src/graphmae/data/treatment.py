"""How features were made, as a checkpoint stores it (`model.inputs`): what it may say, checked before it is used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

from ..runtime.structure import problems, shown

Features = Literal["row-normalize", "standardize", "raw"]

STEPS = (2, 3, 4)  # of random walks whose return is counted
STRUCTURE = ("degree", "neighbours' degree", *(f"return in {k} steps" for k in STEPS))
OF_COLUMNS: dict[str, dict[str, Any]] = {
    "number": {
        "mean": float, "std": float, "logarithmic": bool, "says_missing": bool, "notation?": str, "usual?": float,
        "codes_for_missing?": [float],
    },
    "boolean": {"says_missing": bool},
    "category": {"levels": [str], "other": bool, "says_missing": bool, "folded?": bool, "salt?": str},
    "text": {"words": [str], "weights": [float], "salt?": str},
    "bag": {"words": [str], "weights": [float], "salt?": str},
    "vector": {"mean": [float], "std": float, "says_missing": bool},
    "ignore": {},
}  # fmt: skip
KIND_WAS_SET = {"kind_was_set?": bool}  # by the user: such a column is a feature on purpose
OF_COLUMNS = {kind: {**learned, **KIND_WAS_SET} for kind, learned in OF_COLUMNS.items()}
MOMENTS = {"mean": [float], "std": [float]}
STATISTICS = {
    "nodes": int,
    "columns": [{"missing": float, "grid": [float], "up_to": [float], "middle": [float], "shares": [float]}],
    "degrees": {"mean": float, "quantiles": [float], "none": float, "hubs": float},
    "edges": int,
    "kinds": [float],
}
TABLE = {
    "features": Literal["table"],
    "self_loops": bool,
    "directed": bool,
    "columns": [Any],
    "structure": Any,
    "edge_kinds": [str],
    "edge_columns?": {str: Any},
    "edge_features?": MOMENTS,
    "names?": {str: str},
    "statistics?": STATISTICS,
    "private?": bool,
}
OF_NODES = {"features": str, "self_loops": bool, "moments?": MOMENTS}
OF_GRAPHS = {"features": str, "self_loops": bool, "coalesce?": bool, "codes?": [int]}
KNOWN = {
    **dict.fromkeys(get_args(Features), OF_NODES),
    **dict.fromkeys(("labels", "degree", "attributes", "attributes+labels", "constant"), OF_GRAPHS),
    "molecule": {"features": str, "self_loops": bool, "standardize?": bool},
    "table": TABLE,
}


def problems_of_treatment(inputs: Mapping[str, Any]) -> list[str]:
    """What is wrong with a stored treatment. Data sets of one's own may have features of other kinds.

    >>> problems_of_treatment({"features": "../x"})
    ["inputs.features must be the name of a kind of features, not '../x'"]
    """
    kind = inputs.get("features")
    if kind is None:
        return problems(inputs, {str: Any}, "inputs")
    if not isinstance(kind, str) or not re.fullmatch(r"[a-z0-9]+([+-][a-z0-9]+)*", kind):
        return [f"inputs.features must be the name of a kind of features, not {shown(kind)}"]
    found = problems(inputs, KNOWN.get(kind, {str: Any}), "inputs")
    if found:
        return found
    if kind == "table":
        return _of_table(inputs)
    if "codes" in inputs and len(inputs["codes"]) != 2:
        return ["inputs.codes must be the lowest and the highest category"]
    return _of_moments(inputs["moments"], "inputs.moments") if "moments" in inputs and kind in KNOWN else []


def _of_moments(moments: Mapping[str, Any], where: str) -> list[str]:
    if len(moments["mean"]) != len(moments["std"]) or not all(std > 0 for std in moments["std"]):
        return [f"{where} must have as many positive deviations as means"]
    return []


def _of_table(inputs: Mapping[str, Any]) -> list[str]:
    found = _of_columns(inputs["columns"], "inputs.columns")
    if not found and "edge_columns" in inputs:
        found = _of_edges(inputs["edge_columns"])
    if not found and "edge_features" in inputs:
        found = _of_moments(inputs["edge_features"], "inputs.edge_features")
    if found:
        return found
    if inputs["structure"] is not None:
        found += problems(inputs["structure"], MOMENTS, "inputs.structure") or _of_moments(
            inputs["structure"], "inputs.structure"
        )
        if not found and len(inputs["structure"]["mean"]) != len(STRUCTURE):
            found.append(f"inputs.structure must have {len(STRUCTURE)} means")
    return found or (_of_statistics(inputs) if "statistics" in inputs else [])


def _of_edges(stored: Mapping[str, Any]) -> list[str]:
    """Columns of edges: a weight, a time, others."""
    found = problems(stored, {"weight?": Any, "time?": Any, "columns": [Any]}, "inputs.edge_columns")
    for role in ("weight", "time"):
        if not found and role in stored:
            found = _of_columns([stored[role]], f"inputs.edge_columns.{role}")
    return found or _of_columns(stored["columns"], "inputs.edge_columns.columns")


def _of_columns(columns: Sequence[Any], where: str) -> list[str]:
    for number, column in enumerate(columns):
        each = f"{where}[{number}]"
        kind = column.get("kind") if isinstance(column, Mapping) else None
        if not isinstance(kind, str) or kind not in OF_COLUMNS:
            return [f"{each} must be an object with a kind: {', '.join(OF_COLUMNS)}"]
        form = {"name": str, "kind": str, **OF_COLUMNS[kind]}
        if found := problems(column, form, each) or _of_column(column, each):
            return found
    return []


def _of_column(column: Mapping[str, Any], where: str) -> list[str]:
    if "std" in column and not column["std"] > 0:
        return [f"{where}.std must be positive"]
    for key in ("levels", "words"):
        if len(set(column.get(key, ()))) < len(column.get(key, ())):
            return [f"{where}.{key} must differ from each other"]
    if column["kind"] in ("text", "bag") and (len(column["words"]) != len(column["weights"]) or not column["words"]):
        return [f"{where} must have words, and one weight for each"]
    if not all(1e-6 <= weight <= 1e6 for weight in column.get("weights", ())):
        return [f"{where}.weights must be between 1e-6 and 1e6; inverse document frequencies are about 1 to 20"]
    if column["kind"] == "vector" and not column["mean"]:
        return [f"{where}.mean is empty"]
    return []


def _of_statistics(inputs: Mapping[str, Any]) -> list[str]:
    """Lengths that belong together."""
    stored, found = inputs["statistics"], []
    if stored["nodes"] < 1 or stored["edges"] < 0:
        found.append("inputs.statistics must be of at least one node")
    if len(stored["kinds"]) != len(inputs["edge_kinds"]):
        found.append("inputs.statistics.kinds must have one number for each of edge_kinds")
    if len(stored["columns"]) != len(inputs["columns"]):
        found.append("inputs.statistics.columns must have one entry for each column")
        return found
    if not stored["degrees"]["quantiles"]:
        found.append("inputs.statistics.degrees.quantiles is empty")
    for number, (column, seen) in enumerate(zip(inputs["columns"], stored["columns"], strict=True)):
        where, grid = f"inputs.statistics.columns[{number}]", seen["grid"]
        if len(seen["up_to"]) != len(grid) or any(a >= b for a, b in pairwise(grid)):
            found.append(f"{where} must have a rising grid, and one share for each of its points")
        if len(seen["middle"]) != (2 if grid else 0):
            found.append(f"{where}.middle must have two numbers")
        widest = _shares(column)
        if widest is not None and len(seen["shares"]) not in (0, widest):
            found.append(f"{where}.shares must have {widest} numbers")
    return found


def _shares(column: Mapping[str, Any]) -> int | None:
    """How many shares a column of this kind stores."""
    inner = {"category": "levels", "text": "words", "bag": "words", "vector": "mean"}.get(column["kind"])
    if inner is None:
        return {"boolean": 1, "number": 0}.get(column["kind"])
    return len(column[inner]) + bool(column.get("other"))
