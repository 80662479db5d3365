"""Automatic predictors as folders: config.json says what they are made of, model.safetensors holds every number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data.molecules.descriptors import WIDTH
from ..data.molecules.fingerprints import BITS
from ..data.molecules.neighbours import TanimotoIndex
from ..finetuning.automatic import AutomaticPredictor
from ..finetuning.calibration import Conformal, Platt
from ..finetuning.domain import Domain
from ..finetuning.kernel import Radial
from ..finetuning.members import SPECS, Fitted
from ..finetuning.predictor import Predictor
from ..finetuning.trees import Trees
from ..runtime.environment import package_version
from ..runtime.errors import InputError
from ..runtime.files import write_json, write_text
from ..runtime.tensors import Damaged, read_tensors, write_tensors
from .card import automatic_card
from .checkpoint import FORMAT, build_part, described, explained
from .weights import limited, read_header, refuse_not_finite

KIND = "automatic"


def save_automatic(
    predictor: AutomaticPredictor,
    folder: str | Path,
    metric: str = "",
    scores: Mapping[str, Mapping[str, float]] | None = None,
    trained_on: Mapping[str, Any] | None = None,
) -> Path:
    """Write an automatic predictor to `folder`, with the scores of all its members."""
    folder, tensors = Path(folder), _of_networks(predictor)
    for member in predictor.members:
        tensors |= {f"member.{member.name}.{key}": value for key, value in member.to_tensors().items()}
    for name, platt in predictor.platts.items():
        tensors |= _of_arrays(f"platt.{name}", slope=platt.slope, shift=platt.shift)
    if predictor.platt is not None:
        tensors |= _of_arrays("stack", slope=predictor.platt.slope, shift=predictor.platt.shift)
    if predictor.conformal is not None:
        tensors |= _of_arrays("conformal", factor=predictor.conformal.factor, floor=predictor.conformal.floor)
    if predictor.token is not None:
        tensors["token"] = predictor.token.detach().cpu()
    domain = predictor.domain
    if domain is not None:
        index = domain.index
        tensors |= _of_arrays("domain", begins=index.begins, members=index.members, sizes=index.sizes,
                              middle=domain.middle, scale=domain.scale, rows=domain.rows,
                              smiles=_text(domain.smiles), ids=_text(domain.ids))  # fmt: skip
    config = {
        "format": FORMAT,
        "kind": KIND,
        "graphmae": package_version(),
        "encoder": described("encoder", predictor.encoder),
        "targets": list(predictor.names),
        "task": predictor.kind,
        "readout": predictor.readout,
        "tuned": len(predictor.tuned),
        "weights": predictor.weights,
        "members": [
            {"name": member.name, "squashed": member.squashed, "width": member.trees.width if member.trees else 0}
            for member in predictor.members
        ],
        "level": predictor.conformal.level if predictor.conformal else 0.0,
        "domain": {"tanimoto": domain.least_tanimoto, "cosine": domain.least_cosine} if domain else {},
        "inputs": dict(predictor.inputs),
        "metric": metric,
        "scores": {name: dict(row) for name, row in (scores or {}).items()},
        "report": predictor.report,
        "trained_on": dict(trained_on or {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "model.safetensors", tensors)
    write_text(folder / "README.md", automatic_card(predictor, config))
    write_json(folder / "config.json", config)  # last: a folder that has it is complete
    return folder


def load_automatic(folder: Path, config: Mapping[str, Any]) -> AutomaticPredictor:
    """The predictor `save_automatic` wrote; `config` is its config.json, whose form was checked."""
    header = read_header(folder / "model.safetensors")
    try:
        tensors, _ = read_tensors(folder / "model.safetensors", must_have_digest=True)
    except Damaged as error:
        raise InputError(f"{folder}: model.safetensors is damaged ({error})") from None
    parts = _Parts(tensors, str(folder))
    targets, kind = tuple(config["targets"]), config["task"]
    with explained(folder), limited(header):
        encoder = build_part("encoder", dict(config["encoder"]))
        parts.fill("encoder", encoder)
        tuned = []
        for number in range(config["tuned"]):
            made = build_part("encoder", dict(config["encoder"]))
            predictor = Predictor(made, targets, kind, config["readout"], 0.0)
            predictor.inputs = dict(config.get("inputs", {}))
            parts.fill(f"tuned.{number}", predictor)
            tuned.append(predictor.eval())
    readouts = len(config["readout"].split("+"))
    widths = {"embedding": int(encoder.out_channels) * readouts, "ecfp": BITS, "descriptors": WIDTH}
    members = [parts.member(entry, widths) for entry in config["members"]]
    weights = {str(name): float(value) for name, value in config["weights"].items()}
    known = {*(member.name for member in members), *(["finetuned"] if tuned else [])}
    if not weights or not set(weights) <= known:
        raise InputError(f"{folder}: config.json weighs members that are not there")
    count, is_class = len(targets), kind == "classification"
    platts = (
        {name: Platt(*parts.pair(f"platt.{name}", "slope", "shift", count)) for name in weights} if is_class else {}
    )
    platt = Platt(*parts.pair("stack", "slope", "shift", count)) if is_class else None
    conformal = None if is_class else Conformal(*parts.pair("conformal", "factor", "floor", count), config["level"])
    return AutomaticPredictor(
        targets, kind, config["readout"], dict(config.get("inputs", {})), encoder.eval(), tuned, members, weights,
        platts, platt, conformal, parts.domain(config["domain"]), dict(config.get("report", {})),
        torch.from_numpy(parts.array("token", "f", None)) if "token" in tensors else None,
    )  # fmt: skip


def _of_networks(predictor: AutomaticPredictor) -> dict[str, Tensor]:
    networks = {"encoder": predictor.encoder}
    networks |= {f"tuned.{number}": tuned for number, tuned in enumerate(predictor.tuned)}
    return {f"{name}.{key}": v for name, network in networks.items() for key, v in network.state_dict().items()}


def _of_arrays(name: str, **arrays: np.ndarray) -> dict[str, Tensor]:
    return {f"{name}.{key}": torch.from_numpy(np.ascontiguousarray(value)) for key, value in arrays.items()}


def _text(lines: tuple[str, ...]) -> np.ndarray:
    """Lines as bytes; a name with a line break in it has a space there."""
    return np.frombuffer("\n".join(" ".join(line.split("\n")) for line in lines).encode(), dtype=np.uint8).copy()


class _Parts:
    """Tensors of a file by the part they belong to, checked before they are used."""

    def __init__(self, tensors: Mapping[str, Tensor], where: str) -> None:
        self.tensors, self.where = tensors, where

    def of(self, prefix: str) -> dict[str, Tensor]:
        return {key.removeprefix(f"{prefix}."): v for key, v in self.tensors.items() if key.startswith(f"{prefix}.")}

    def fill(self, prefix: str, module: nn.Module) -> None:
        weights = self.of(prefix)
        refuse_not_finite(module, weights, self.where)
        try:
            module.load_state_dict(weights)
        except RuntimeError as error:
            text = " ".join(str(error).split())[:200]
            raise InputError(f"{self.where}: model.safetensors does not fit config.json ({text})") from None

    def array(self, key: str, kind: str, *shape: int | None) -> np.ndarray:
        found = self.tensors.get(key)
        fits = found is not None and found.dim() == len(shape)
        if found is None or not fits or any(n is not None and n != m for n, m in zip(shape, found.shape, strict=True)):
            raise InputError(f"{self.where}: model.safetensors lacks {key!r}, or it is of another shape")
        array = found.numpy()
        if array.dtype.kind != kind or (kind == "f" and not np.isfinite(array).all()):
            raise InputError(f"{self.where}: {key!r} of model.safetensors holds other numbers than it should")
        return array

    def pair(self, name: str, one: str, other: str, count: int) -> tuple[np.ndarray, np.ndarray]:
        return self.array(f"{name}.{one}", "f", count), self.array(f"{name}.{other}", "f", count)

    def index(self, prefix: str) -> TanimotoIndex:
        begins, members = self.array(f"{prefix}.begins", "i", None), self.array(f"{prefix}.members", "i", None)
        sizes = self.array(f"{prefix}.sizes", "i", None)
        ordered = len(begins) > 1 and begins[0] == 0 and begins[-1] == len(members) and (np.diff(begins) >= 0).all()
        if not ordered or (len(members) and not (0 <= members.min() <= members.max() < len(sizes))):
            raise InputError(f"{self.where}: the fingerprints of {prefix!r} point nowhere; its files are damaged")
        return TanimotoIndex(begins.astype(np.int64), members.astype(np.int32), sizes.astype(np.int32))

    def radial(self, prefix: str, count: int) -> Radial:
        rows = self.array(f"{prefix}.rows", "f", count, None)
        middle, scale = self.pair(prefix, "middle", "scale", rows.shape[1])
        return Radial(middle, scale, rows)

    def member(self, entry: Mapping[str, Any], widths: Mapping[str, int]) -> Fitted:
        found = self._member(entry)
        total = sum(widths[block] for block in found.blocks)
        columns = found.columns
        read = found.weight.shape[1] if found.weight is not None else entry["width"]
        if found.index is not None:  # fingerprints are compared bit by bit, descriptors column by column
            read = 0 if found.radial is None else found.radial.rows.shape[1]
            total = widths["descriptors"]
        if columns is not None and len(columns) and not 0 <= columns.min() <= columns.max() < total:
            raise InputError(f"{self.where}: {found.name!r} reads columns that are not there; its files are damaged")
        if read and read != (total if columns is None else len(columns)):
            raise InputError(
                f"{self.where}: {found.name!r} was fitted to {read} columns, and this version of graphmae computes "
                f"{total}; fine-tune again"
            )
        return found

    def _member(self, entry: Mapping[str, Any]) -> Fitted:
        name = entry["name"]
        if name not in SPECS:
            raise InputError(f"{self.where}: config.json has an unknown member {name!r}")
        prefix = f"member.{name}"
        own, spec = self.of(prefix), SPECS[name]
        base = self.array(f"{prefix}.base", "f", None)
        columns = self.array(f"{prefix}.columns", "i", None) if "columns" in own else None
        if spec.learner == "kernel":
            index = self.index(prefix)
            dual = self.array(f"{prefix}.dual", "f", len(index), len(base))
            radial = self.radial(prefix, len(index)) if "descriptors" in spec.blocks else None
            return Fitted(
                name, spec.blocks, columns, base=base, index=index, dual=dual, radial=radial, squashed=entry["squashed"]
            )
        if spec.learner == "linear":
            weight = self.array(f"{prefix}.weight", "f", len(base), None)
            return Fitted(name, spec.blocks, columns, weight=weight, base=base, squashed=entry["squashed"])
        trees = Trees.from_tensors(self.of(f"{prefix}.trees"), entry["width"]) if entry["width"] else None
        return Fitted(name, spec.blocks, columns, trees=trees, base=base, squashed=entry["squashed"])

    def domain(self, least: Mapping[str, float]) -> Domain | None:
        if not least:
            return None
        index = self.index("domain")
        smiles, ids = (_lines(self.array(f"domain.{key}", "u", None)) for key in ("smiles", "ids"))
        if not len(smiles) == len(ids) == len(index):
            raise InputError(f"{self.where}: the training molecules do not fit their fingerprints")
        middle = self.array("domain.middle", "f", None)
        scale, rows = (
            self.array(f"domain.{key}", "f", *shape, len(middle)) for key, shape in (("scale", ()), ("rows", (None,)))
        )
        return Domain(index, smiles, ids, middle, scale, rows, float(least["tanimoto"]), float(least["cosine"]))


def _lines(text: np.ndarray) -> tuple[str, ...]:
    return tuple(text.tobytes().decode("utf-8", errors="replace").split("\n"))
