"""What the tests run in several processes, and in one to compare with: single steps of training on fixed draws.

Started by torchrun with the name of a folder, each rank writes the gradients it ends with there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch_geometric.data import Data

import graphmae as gm
from graphmae import decoders, encoders
from graphmae.batching import Batch, GraphStore
from graphmae.data import GraphSet
from graphmae.masking.nodes import MaskedNodes, NodeMask
from graphmae.methods import GraphMAE
from graphmae.training import Ranks, Trainer, connect
from graphmae.training.distributed import shared_or_shuffled

CASES = ("batch norm", "layer norm", "accumulated", "own statistics")
SIZES = (3, 20, 4, 9, 5, 6, 30)  # so that ranks have different numbers of nodes


class HighFirst(NodeMask):
    """Masks nodes whose first feature is high, or all are zero: whichever batch they are in, they are the same."""

    def draw_in(self, batch: Batch) -> MaskedNodes:
        chosen = (batch.x[:, 0] > 0.4) | (batch.x == 0).all(1)
        return MaskedNodes.of(chosen.nonzero().flatten(), len(batch.x))


def graphs() -> GraphSet:
    generator = torch.Generator().manual_seed(1)
    made = []
    for size in SIZES:
        ring = torch.stack([torch.arange(size), torch.arange(size).roll(1)])
        x = torch.rand(size, 6, generator=generator)
        x[0] *= float(size != 9)  # one masked node has only zeros to reconstruct: it does not count
        made.append(Data(x=x, edge_index=torch.cat([ring, ring.flip(0)], 1)))
    return GraphSet.from_list("rings", made)


def model_of(case: str) -> GraphMAE:
    torch.manual_seed(0)
    norm = "layer" if case in ("layer norm", "accumulated") else "batch"
    encoder = encoders.GIN(6, hidden_channels=8, num_layers=2, norm=norm, dropout=0.0)
    return GraphMAE(encoder, decoders.GIN(8, out_channels=6, norm=norm, dropout=0.0), HighFirst())


def gradients(case: str, ranks: Ranks) -> dict[str, Tensor]:
    """Of one step on all graphs, taken by one optimiser step, and what batch norms remember of it."""
    model, found = model_of(case), {}

    def keep() -> None:
        found.update({name: w.grad.clone() for name, w in model.named_parameters() if w.grad is not None})

    size = 5 if case == "accumulated" and ranks.size > 1 else len(SIZES)  # two batches, of unequal size
    ids = torch.arange(len(SIZES))
    batches = shared_or_shuffled(ids, size, GraphStore(graphs()).take, ranks)
    trainer = Trainer(
        model, lambda model, batch: model(batch), torch.optim.SGD(model.parameters(), lr=0.0), terms=model.terms,
        accumulate=len(batches), ranks=ranks, sync_norm=case != "own statistics", in_step=keep,
    )  # fmt: skip
    loss = trainer.fit(batches, len(batches)).loss
    if case != "accumulated":  # there the loss that is reported is the mean of those of two batches
        found["loss"] = torch.tensor(loss)
    return found | {name: buffer.clone() for name, buffer in model.named_buffers() if "running" in name}


def own_weights() -> dict[str, Tensor]:
    """Of a model of one's own parts after `gm.pretrain`, as a script of one's own calls it."""
    model = model_of("layer norm")
    gm.pretrain(model, graphs(), epochs=3, batch_size=4, device="cpu", progress=False)
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


if __name__ == "__main__":
    together = connect(torch.device("cpu"))
    for number, case in enumerate(CASES):
        save_file(gradients(case, together), Path(sys.argv[1]) / f"{number}-{together.rank}.safetensors")
    save_file(own_weights(), Path(sys.argv[1]) / f"own-{together.rank}.safetensors")
    together.wait()
