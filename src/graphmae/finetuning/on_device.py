"""The members of an automatic predictor on a CUDA device: the same answers as on the CPU, up to rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..data.molecules.neighbours import TanimotoIndex
from ..runtime.resting import resting_copy
from .domain import Domain, Nearness
from .kernel import WIDTH, Radial, standardised_tensor
from .members import MISSING, Fitted
from .trees import LEAF, Trees

AT_ONCE = 2048  # molecules whose way through all trees is followed together


class DeviceTrees:
    """`Trees` as tensors; all rows go down all trees one level at a time, and stay where they reach a leaf."""

    def __init__(self, trees: Trees, device: torch.device) -> None:
        own, leaf = np.arange(len(trees.feature)), trees.feature == LEAF
        narrow = trees.threshold.astype(np.float32)
        # Rounded down: a float32 is at most the threshold where it is at most this.
        narrow = np.where(narrow > trees.threshold, np.nextafter(narrow, np.float32(-np.inf)), narrow)

        def put(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        self.feature = put(np.where(leaf, 0, trees.feature).astype(np.int64))
        self.threshold, self.missing_left = put(narrow), put(trees.missing_left.astype(bool))
        self.left, self.right = (put(np.where(leaf, own, side).astype(np.int64)) for side in (trees.left, trees.right))
        self.leaf, self.values = put(np.where(leaf, trees.left, 0).astype(np.int64)), put(trees.values)
        self.roots, self.depth = put(trees.roots.astype(np.int64)), _depth(trees)

    def sums(self, x: Tensor) -> Tensor:
        """[n, T] float64 of rows [n, width] float32, as `Trees.sums`."""
        return torch.cat([self._of_some(rows) for rows in x.split(AT_ONCE)])

    def _of_some(self, x: Tensor) -> Tensor:
        node = self.roots.expand(len(x), -1)
        for _ in range(self.depth):
            value = x.gather(1, self.feature[node])
            goes_left = (value <= self.threshold[node]) | (value.isnan() & self.missing_left[node])
            node = torch.where(goes_left, self.left[node], self.right[node])
        leaves = self.leaf[node]
        # One tree more at a time: all of them for many targets would not fit.
        if self.values.size(1) == 1:
            return self.values[leaves].double().sum(1)
        out = x.new_zeros((len(x), self.values.size(1)), dtype=torch.float64)
        for column in leaves.t():
            out += self.values[column]
        return out


def _depth(trees: Trees) -> int:
    """How many questions the longest way down has."""
    depth, nodes = 0, trees.roots
    while len(nodes := nodes[trees.feature[nodes] != LEAF]):
        depth, nodes = depth + 1, np.concatenate([trees.left[nodes], trees.right[nodes]])
    return depth


class DeviceMembers:
    """Fitted members, encoders and the training molecules of a domain, ready for many molecules at once."""

    def __init__(
        self, members: Sequence[Fitted], domain: Domain | None, encoders: Sequence[nn.Module], device: torch.device
    ) -> None:
        self.members, self.domain, self.device = members, domain, device
        self.encoders = [resting_copy(encoder, device) for encoder in encoders]
        self.trees = {one.name: DeviceTrees(one.trees, device) for one in members if one.trees is not None}
        self.bits: dict[int, Tensor] = {}

    @torch.no_grad()
    def guesses(self, blocks: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
        """Member → [n, T] probabilities of class 1, or numbers, as `Fitted.predict`."""
        return {member.name: self._guess(member, blocks).cpu().numpy() for member in self.members}

    def _guess(self, member: Fitted, blocks: Mapping[str, Tensor]) -> Tensor:
        base = 0.0 if member.base is None else self._put(member.base)
        if member.index is not None:
            assert member.dual is not None
            dual = self._put(member.dual)
            parts = [self._alike(member.index, rows).double() @ dual for rows in blocks["ecfp"].split(AT_ONCE)]
            if member.radial is not None:
                near = (self._near(member.radial, rows) for rows in blocks["descriptors"].split(AT_ONCE))
                parts = [part + some.double() @ dual for part, some in zip(parts, near, strict=True)]
            out = torch.cat(parts) + base
            return out.clamp(0.005, 0.995) if member.squashed else out
        chosen = [blocks[name].float() for name in member.blocks]
        if member.weight is not None:
            chosen = [part.clamp(max=1) if name == "ecfp" else part
                      for name, part in zip(member.blocks, chosen, strict=True)]  # fmt: skip
        x = torch.cat(chosen, dim=1)
        if member.is_forest:
            x = x.nan_to_num(nan=MISSING)
        if member.columns is not None:
            x = x[:, self._put(member.columns)]
        if member.weight is not None:
            out = (x @ self._put(member.weight).float().t()).double()
        else:
            out = self.trees[member.name].sums(x) if member.name in self.trees else x.new_zeros(len(x), 1).double()
        out = out + base
        return out.clamp(-50, 50).sigmoid() if member.squashed else out

    @torch.no_grad()
    def nearness(self, counts: Tensor, embedding: np.ndarray) -> Nearness:
        """As `Domain.nearness`."""
        assert self.domain is not None
        found = [self._alike(self.domain.index, rows).max(1) for rows in counts.split(AT_ONCE)]
        tanimoto = torch.cat([one.values for one in found]).cpu().numpy()
        nearest = torch.cat([one.indices for one in found]).cpu().numpy()
        directions = self._put(self.domain.directions(embedding))
        cosine = (directions @ self._put(self.domain.rows).t()).amax(1).cpu().numpy()
        return self.domain.decide(nearest, tanimoto, cosine)

    def _alike(self, index: TanimotoIndex, counts: Tensor) -> Tensor:
        """[n, M] Tanimoto similarities; products of zeros and ones are exact in TF32 too."""
        key = id(index)
        if key not in self.bits:
            bits = np.zeros((len(index), counts.size(1)), dtype=np.float32)
            bits[index.members, np.repeat(np.arange(counts.size(1)), np.diff(index.begins))] = 1
            self.bits[key] = self._put(bits)
        known, asked = self.bits[key], (counts > 0).float()
        shared = asked @ known.t()
        either = asked.sum(1, keepdim=True) + known.sum(1) - shared
        return torch.where(either > 0, shared / either.clamp(min=1), 1.0)

    def _near(self, radial: Radial, descriptors: Tensor) -> Tensor:
        """[n, M] as `Radial.similarities`."""
        if (key := id(radial)) not in self.bits:
            self.bits[key] = self._put(radial.rows)
        known = self.bits[key]
        asked = standardised_tensor(descriptors, self._put(radial.middle), self._put(radial.scale))
        return torch.exp(-WIDTH / known.size(1) * torch.cdist(asked, known).square())

    def _put(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
