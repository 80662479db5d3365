"""Every method learns from batches of seeds, and from the seeds alone, or says that it cannot."""

from __future__ import annotations

import pytest
import torch

import graphmae as gm
from graphmae import methods
from graphmae.batching import Batch
from graphmae.experiments import pretrain as pretraining
from graphmae.runtime.errors import InputError
from method_recipes import recipe

SAMPLED = ("train.sampler=neighbour", "train.batch_size=32")
TAKES = [name for name in methods.names() if methods.REGISTRY.get(name).of_seeds]  # type: ignore[attr-defined]
OTHERS = [name for name in methods.names() if name not in TAKES and methods.learns_from(name, "node")]
SHUFFLES = ("dgi",)  # features of any node are given to others, as the method has it


def test_the_masked_and_contrastive_methods_take_seeds() -> None:
    assert {"graphmae", "graphmae2", "joint", "dgi", "bgrl", "grace", "cca-ssg", "maskgae", "gae"} <= set(TAKES)
    assert "mvgrl" in OTHERS


@pytest.mark.parametrize("name", TAKES)
def test_nodes_that_are_no_seeds_and_reach_none_do_not_count(name: str) -> None:
    """Two rings; the seeds are in one of them. Features in the other have no part in the loss, those of seeds have."""
    torch.manual_seed(0)
    ring = torch.stack([torch.arange(8), torch.arange(8).roll(1)])
    loops = torch.arange(16).expand(2, -1)
    edges = torch.cat([ring, ring.flip(0), ring + 8, ring.flip(0) + 8, loops], dim=1)
    model = methods.build(recipe(name), 5).train()
    seeds, total = torch.tensor([0, 1, 2, 5]), torch.zeros(16)
    for _ in range(6):  # a mask leaves out some seeds
        x = torch.rand(16, 5, requires_grad=True)
        loss = model(Batch(x, edges, seeds=seeds))
        assert bool(torch.isfinite(loss))
        if loss.requires_grad:
            loss.backward()
        if x.grad is not None:
            total += x.grad.abs().sum(1)
    assert float(total[:8].min()) > 0 or float(total[seeds].max()) > 0
    if name not in SHUFFLES:
        assert float(total[8:].max()) == 0


@pytest.mark.parametrize("name", TAKES)
def test_it_is_trained_by_mini_batches(name: str) -> None:
    data, cpu = gm.data.load("synthetic", num_nodes=80), torch.device("cpu")
    settings = recipe(name, *SAMPLED, "train.epochs=2")
    model = pretraining.pretrain_once(settings, data, 0, cpu)
    again = pretraining.pretrain_once(settings.override("train.workers=3"), data, 0, cpu)
    assert "32 seeds" in str(model.trained_on["approximation"])
    for key, value in model.state_dict().items():
        assert torch.equal(value, again.state_dict()[key]), key


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_say_so_before_training(name: str) -> None:
    data, cpu = gm.data.load("synthetic", num_nodes=80), torch.device("cpu")
    with pytest.raises(InputError, match=r"train\.sampler = 'cluster'"):
        pretraining.pretrain_once(recipe(name, *SAMPLED), data, 0, cpu)
    model = pretraining.pretrain_once(recipe(name, "train.sampler=cluster", "train.batch_size=40"), data, 0, cpu)
    assert "edges to other nodes are not seen" in str(model.trained_on["approximation"])
