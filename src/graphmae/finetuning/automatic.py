"""A predictor made of several models, with calibrated probabilities or intervals, and a sense of what it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn

from ..data.molecules.featurized import Featurized, featurize
from ..inference.molecules import embed_molecules
from .calibration import Conformal, Platt, logit
from .domain import Domain, Nearness
from .members import FINETUNED, Fitted, Kind
from .on_device import DeviceMembers
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
        tuned: fine-tuned encoders with their heads, most often one; the predictions of several are averaged.
        members: the other models.
        weights: member → share.
        platts: of classes, how each member's probabilities are calibrated before they are averaged.
        platt: of classes, how the average is calibrated.
        conformal: of numbers, how wide intervals are.
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
    _on_device: DeviceMembers | None = field(init=False, default=None, repr=False)

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
        """Predictions for molecules; nothing is drawn by chance, and other molecules change nothing but rounding."""
        if molecules.graphs is None:
            empty, none = np.zeros((0, len(self.names))), np.zeros(0)
            near = None if self.domain is None else Nearness(none.astype(int), none, none, none.astype(bool))
            side = None if self.conformal is None else empty
            return Answers(empty, empty, side, side, near)
        guesses, near = self._asked(molecules, device or torch.device("cpu"))
        middle, spread = combined(guesses, self.weights), spread_of(guesses, self.weights)
        if self.platt is not None:
            shares = np.stack([self.platt(guess) for guess in guesses.values()])
            weights = np.array([self.weights[name] for name in guesses])[:, None, None]
            values = self.platt(middle)
            deviation = np.sqrt((weights * (shares - (weights * shares).sum(0)) ** 2).sum(0))
            return Answers(values, deviation, near=near)
        half = np.zeros_like(middle) if self.conformal is None else self.conformal.half_width(spread)
        return Answers(middle, spread, middle - half, middle + half, near)

    def _asked(self, molecules: Featurized, device: torch.device) -> tuple[dict[str, np.ndarray], Nearness | None]:
        """(member → [n, T] calibrated logits or numbers, the nearest training molecules)."""
        assert molecules.graphs is not None
        if device.type != "cpu" and (self._on_device is None or self._on_device.device != device):
            self._on_device = DeviceMembers(self._used, self.domain, self.encoders, device)
        encoders = self.encoders if self._on_device is None or device.type == "cpu" else self._on_device.encoders
        embedded = embed_molecules(encoders, molecules.graphs, self.readout, device)
        # Without members that read the pre-trained encoder, the domain reads the fine-tuned one.
        embedding, counts, descriptors = embedded[0].numpy(), molecules.counts, molecules.descriptors
        near: Nearness | None
        if device.type == "cpu" and self.domain is not None and (kernels := self._kernels_of_domain):
            # All compare with the same molecules: that is done once.
            dual = np.concatenate([one.dual for one in kernels if one.dual is not None], axis=1)
            nearest, tanimoto, sums = self.domain.index.search(counts, dual)
            near = self.domain.decide(nearest, tanimoto, self.domain.cosines(embedding))
            parts = zip(kernels, np.split(sums, len(kernels), axis=1), strict=True)
            known = {kernel.name: kernel.of_similar(part, descriptors) for kernel, part in parts}
            return self.guesses(embedded, counts, descriptors, known), near
        if device.type == "cpu":
            near = None if self.domain is None else self.domain.nearness(counts, embedding)
            return self.guesses(embedded, counts, descriptors), near
        assert self._on_device is not None
        arrays = {"embedding": embedding, "ecfp": counts, "descriptors": descriptors}
        blocks = {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
        near = None if self.domain is None else self._on_device.nearness(blocks["ecfp"], embedding)
        return self._calibrated(self._on_device.guesses(blocks), embedded), near

    @property
    def _used(self) -> list[Fitted]:
        return [member for member in self.members if member.name in self.weights]

    @cached_property
    def _kernels_of_domain(self) -> list[Fitted]:
        """The members that compare with the molecules of the domain."""
        found = [member for member in self._used if member.index is not None and self.domain is not None]
        return [one for one in found if one.index.is_same(self.domain.index)]  # type: ignore[union-attr]

    @property
    def encoders(self) -> list[nn.Module]:
        """Those that are needed: the pre-trained one where something reads it, then the fine-tuned ones."""
        return [*([self.encoder] * self.reads_frozen), *(predictor.encoder for predictor in self.tuned)]

    def guesses(
        self,
        embedded: Sequence[torch.Tensor],
        counts: np.ndarray,
        descriptors: np.ndarray,
        known: Mapping[str, np.ndarray] | None = None,
    ) -> dict[str, np.ndarray]:
        """Member → [n, T] calibrated logits or numbers, from what `encoders` give, fingerprints and descriptors.

        `known` is what some members say, before it is calibrated.
        """
        blocks = {"embedding": embedded[0].numpy(), "ecfp": counts, "descriptors": descriptors}
        found = dict(known or {})
        for member in self._used:
            if member.name not in found:
                found[member.name] = member.predict(blocks)
        return self._calibrated(found, embedded)

    def _calibrated(self, guesses: dict[str, np.ndarray], embedded: Sequence[torch.Tensor]) -> dict[str, np.ndarray]:
        """With the fine-tuned encoder among the members; of classes calibrated logits."""
        if FINETUNED in self.weights:
            guesses[FINETUNED] = mean_of_tuned(self.tuned, embedded[self.reads_frozen :])
        if self.kind == "classification":
            guesses = {name: self.platts[name].logits(logit(guess)) for name, guess in guesses.items()}
        return guesses

    def merged(self, guesses: dict[str, np.ndarray]) -> np.ndarray:
        """[n, T] calibrated logits, or numbers. Logits are not cut off: of what is certain, differences count too."""
        middle = combined(guesses, self.weights)
        return middle if self.platt is None else self.platt.slope * middle + self.platt.shift


@torch.no_grad()
def mean_of_tuned(tuned: Sequence[Predictor], embedded: Sequence[torch.Tensor]) -> np.ndarray:
    """[n, T] the mean of the answers of fine-tuned predictors, given what their heads see."""
    answers = [
        predictor.answer(predictor.head(rows)).double().numpy() for predictor, rows in zip(tuned, embedded, strict=True)
    ]
    return np.asarray(sum(answers) / len(answers))
