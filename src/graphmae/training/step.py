"""One step: a batch in, its loss out, the weights moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from .trainer import Trainer


class Step:
    """Forward, backward and the optimiser's move, by the parts of a `Trainer`.

    A loss is a mean over terms. So that the gradients of several batches, of several processes or one after the other,
    are those of their union, each batch's loss counts as often as it has terms, and what was added up is divided by all
    of them at the end: Σ_b n_b L_b / Σ_b n_b.

    Attributes:
        moves: whether the optimiser moves after the next batch; otherwise its gradients are kept.
    """

    def __init__(self, trainer: Trainer[Any], module: nn.Module) -> None:
        self.trainer, self.module, self.moves = trainer, module, True
        self.is_plain = trainer.accumulate == 1 and trainer.ranks.size == 1
        self.has_begun = False
        self.terms: Tensor | None = None

    def __call__(self, batch: Any) -> Tensor:
        """The loss, of all processes together."""
        trainer, ranks = self.trainer, self.trainer.ranks
        if not self.has_begun:
            trainer.optimizer.zero_grad(set_to_none=True)
        self.has_begun = not self.moves
        if self.is_plain:
            loss = trainer.loss(self.module, batch)
            loss.backward()
        else:
            with ranks.reaching(), ranks.unsynchronised(self.module, syncs=self.moves):
                loss = trainer.loss(self.module, batch)
                count = torch.as_tensor(trainer.terms(batch), device=loss.device).to(loss.dtype)
                (loss * count).backward()
            loss = self._of_all(loss.detach(), count)
        if self.moves:
            if trainer.clip_norm is not None:
                nn.utils.clip_grad_norm_(trainer.module.parameters(), trainer.clip_norm)
            trainer.optimizer.step()
            trainer.in_step()
        return loss.detach()

    def _of_all(self, loss: Tensor, count: Tensor) -> Tensor:
        """The loss over all ranks; gradients, means over ranks of sums over terms, become means over terms."""
        ranks = self.trainer.ranks
        total, terms = ranks.add_up(torch.stack([loss * count, count]).double())
        self.terms = terms if self.terms is None else self.terms + terms
        if self.moves:
            grads = [weight.grad for weight in self.trainer.module.parameters() if weight.grad is not None]
            factor = ranks.size / self.terms.clamp(min=1e-12)
            torch._foreach_mul_(grads, factor.to(loss.dtype))
            self.terms = None
        return (total / terms.clamp(min=1e-12)).to(loss.dtype)
