"""Several predictors as one: those of all seeds of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..data.molecules.featurized import Featurized, featurize
from ..inference.molecules import embed_molecules
from ..runtime.errors import InputError, unknown
from .automatic import Answers, AutomaticPredictor, mean_of_tuned
from .predictor import Kind, Predictor


@dataclass(frozen=True)
class Committee:
    """The mean of what its models predict; how far they disagree is added to the spread."""

    models: tuple[Predictor | AutomaticPredictor, ...]

    def __post_init__(self) -> None:
        first = self.models[0]
        for other in self.models[1:]:
            same = other.names == first.names and other.kind == first.kind
            if not same or bool(other.inputs.get("standardize")) != bool(first.inputs.get("standardize")):
                raise InputError("the seeds of this run predict different targets; fine-tune them again in one run")

    @property
    def names(self) -> tuple[str, ...]:
        return self.models[0].names

    def target(self, name: str, what: str = "target") -> int:
        """Which target is called so; pIC50(IC50 (nM)) also goes by the name of its column, and where it is alone by
        pIC50."""
        found = [
            at for at, own in enumerate(self.names)
            if name == own or own.endswith(f"({name})") or own.startswith(f"{name}(")
        ]  # fmt: skip
        exact = [at for at in found if self.names[at] == name]
        if len(exact or found) != 1:
            raise InputError(unknown(what, name, self.names))
        return (exact or found)[0]

    @property
    def kind(self) -> Kind:
        return self.models[0].kind

    @property
    def automatic(self) -> AutomaticPredictor | None:
        """The first automatic predictor, which knows the training molecules; None: there is none."""
        return next((model for model in self.models if isinstance(model, AutomaticPredictor)), None)

    @property
    def can_disagree(self) -> bool:
        """Whether there are several models, or several members of one."""
        members = [len(model.weights) for model in self.models if isinstance(model, AutomaticPredictor)]
        return len(self.models) > 1 or max(members, default=1) > 1

    def featurize(self, texts: Sequence[str]) -> Featurized:
        """What the models read of SMILES strings."""
        wanted = any(isinstance(model, AutomaticPredictor) and model.reads_descriptors for model in self.models)
        standardize = bool(self.models[0].inputs.get("standardize"))
        return featurize(texts, standardize=standardize, with_descriptors=wanted)

    def answer(self, molecules: Featurized, device: torch.device | None = None) -> Answers:
        """Predictions for molecules."""
        used = device or torch.device("cpu")
        found = [_answer(model, molecules, used) for model in self.models]
        if len(found) == 1:
            return found[0]
        values = np.mean([one.values for one in found], axis=0)
        within = np.mean([one.spread**2 for one in found], axis=0)
        between = np.var([one.values for one in found], axis=0)
        lows, highs = [one.low for one in found], [one.high for one in found]
        low = None if any(one is None for one in lows) else np.mean(lows, axis=0)  # type: ignore[arg-type]
        high = None if any(one is None for one in highs) else np.mean(highs, axis=0)  # type: ignore[arg-type]
        return replace(found[0], values=values, spread=np.sqrt(within + between), low=low, high=high)


def _answer(model: Predictor | AutomaticPredictor, molecules: Featurized, device: torch.device) -> Answers:
    if isinstance(model, AutomaticPredictor):
        return model.answer(molecules, device)
    if molecules.graphs is None:
        values = np.zeros((0, len(model.names)))
    else:
        embedded = embed_molecules([model.encoder], molecules.graphs, model.readout, device)
        values = mean_of_tuned([model], embedded)
    return Answers(values, np.zeros_like(values))
