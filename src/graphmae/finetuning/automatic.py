"""A predictor made of several models, with calibrated probabilities or intervals, and a sense of what it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from ..data.molecules.featurized import Featurized, featurize
from ..inference.molecules import embed_molecules
from .calibration import Conformal, Platt, logit
from .domain import Domain, Nearness
from .members import FINETUNED, Fitted, Kind
from .predictor import Predictor
from .stack import combined, spread_of

NEARNESS = ("nearest", "tanimoto", "cosine", "inside")


@dataclass(frozen=True)
class Answers:
    """Of n molecules and T targets.

    Attributes:
        values: [n, T] probabilities of class 1, or numbers.
        spread: [n, T] how far the models disagree, in the same units.
        low, high: [n, T] an interval that holds the number with the level asked for; None for classes.
        near: the nearest training molecules; None where the predictor does not know them.
    """

    values: np.ndarray
    spread: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    near: Nearness | None = None

    def of(self, rows: np.ndarray) -> Answers:
        """Those of some of the molecules."""
        near = None if self.near is None else Nearness(*(getattr(self.near, key)[rows] for key in NEARNESS))
        low, high = (None if side is None else side[rows] for side in (self.low, self.high))
        return Answers(self.values[rows], self.spread[rows], low, high, near)


@dataclass
class AutomaticPredictor:
    """Members weighed together; `fit_automatic` makes one, `pretrained.save_automatic` stores it.

    Attributes:
        encoder: the pre-trained encoder, for members and the domain that read its embeddings.
        tuned: fine-tuned encoders with their heads, whose predictions are averaged.
        members: the other models.
        weights: member → share.
        platts: of classes, how each member's probabilities are calibrated before they are averaged.
        platt: how the average is.
        report: inner scores, what was chosen and why.
        token: what stands for a masked atom in the encoders, as in pre-training; None: zeros.
    """

    names: tuple[str, ...]
    kind: Kind
    readout: str
    inputs: dict[str, Any]
    encoder: nn.Module
    tuned: list[Predictor]
    members: list[Fitted]
    weights: dict[str, float]
    platts: dict[str, Platt] = field(default_factory=dict)
    platt: Platt | None = None
    conformal: Conformal | None = None
    domain: Domain | None = None
    report: dict[str, Any] = field(default_factory=dict)
    token: torch.Tensor | None = None

    @property
    def reads_descriptors(self) -> bool:
        return any("descriptors" in member.blocks for member in self.members)

    @property
    def reads_frozen(self) -> bool:
        """Whether the pre-trained encoder is needed as it is; the domain is content with a fine-tuned one."""
        return not self.tuned or any("embedding" in member.blocks for member in self.members)

    def featurize(self, texts: Sequence[str]) -> Featurized:
        """What this predictor reads of SMILES strings."""
        standardize = bool(self.inputs.get("standardize"))
        return featurize(texts, standardize=standardize, with_descriptors=self.reads_descriptors)

    def answer(self, molecules: Featurized, device: torch.device | None = None) -> Answers:
        """Predictions for molecules; nothing is drawn by chance, and a molecule's answer does not depend on others."""
        if molecules.graphs is None:
            empty, none = np.zeros((0, len(self.names))), np.zeros(0)
            near = None if self.domain is None else Nearness(none.astype(int), none, none, none.astype(bool))
            side = None if self.conformal is None else empty
            return Answers(empty, empty, side, side, near)
        guesses, embedding = self._guesses(molecules, device or torch.device("cpu"))
        middle, spread = combined(guesses, self.weights), spread_of(guesses, self.weights)
        near = None if self.domain is None else self.domain.nearness(molecules.counts, embedding)
        if self.platt is not None:
            shares = np.stack([self.platt(guess) for guess in guesses.values()])
            weights = np.array([self.weights[name] for name in guesses])[:, None, None]
            values = self.platt(middle)
            deviation = np.sqrt((weights * (shares - (weights * shares).sum(0)) ** 2).sum(0))
            return Answers(values, deviation, near=near)
        half = np.zeros_like(middle) if self.conformal is None else self.conformal.half_width(spread)
        return Answers(middle, spread, middle - half, middle + half, near)

    def _guesses(self, molecules: Featurized, device: torch.device) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """(member → [n, T] calibrated logits or numbers, embeddings the domain reads)."""
        assert molecules.graphs is not None
        embedded = embed_molecules([one.eval() for one in self.encoders], molecules.graphs, self.readout, device)
        # Without members that read the pre-trained encoder, the domain reads the first fine-tuned one.
        return self.guesses(embedded, molecules.counts, molecules.descriptors), embedded[0].numpy()

    @property
    def encoders(self) -> list[nn.Module]:
        """Those that are needed: the pre-trained one where something reads it, then the fine-tuned ones."""
        return [*([self.encoder] * self.reads_frozen), *(predictor.encoder for predictor in self.tuned)]

    def guesses(
        self, embedded: Sequence[torch.Tensor], counts: np.ndarray, descriptors: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Member → [n, T] calibrated logits or numbers, from what `encoders` give, fingerprints and descriptors."""
        blocks = {"embedding": embedded[0].numpy(), "ecfp": counts, "descriptors": descriptors}
        guesses = {member.name: member.predict(blocks) for member in self.members if member.name in self.weights}
        if FINETUNED in self.weights:
            guesses[FINETUNED] = mean_of_tuned(self.tuned, embedded[self.reads_frozen :])
        if self.kind == "classification":
            guesses = {name: self.platts[name].logits(logit(guess)) for name, guess in guesses.items()}
        return guesses

    def merged(self, guesses: dict[str, np.ndarray]) -> np.ndarray:
        """[n, T] calibrated logits, or numbers."""
        middle = combined(guesses, self.weights)
        return middle if self.platt is None else self.platt.logits(middle)


@torch.no_grad()
def mean_of_tuned(tuned: Sequence[Predictor], embedded: Sequence[torch.Tensor]) -> np.ndarray:
    """[n, T] the mean of the answers of fine-tuned predictors, given what their heads see."""
    answers = [
        predictor.answer(predictor.head.cpu()(rows)).double().numpy()
        for predictor, rows in zip(tuned, embedded, strict=True)
    ]
    return np.asarray(sum(answers) / len(answers))
