"""MVGRL for whole graphs: each graph's diffusion is its own and exact, and both encoders are trained."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

import graphmae as gm
from graphmae import encoders, kernels, methods
from graphmae.batching import Batch, GraphStore
from graphmae.data import GraphSet
from graphmae.encoders import diffused
from graphmae.encoders.diffused import diffusion
from graphmae.inference.embedding import embed_graphs
from graphmae.runtime.errors import ConfigError

SIZES = (3, 9, 1, 14, 8, 2)


def graph(nodes: int, seed: int) -> Data:
    """A random graph with one self-loop on each node; a few nodes have no other edge."""
    generator = torch.Generator().manual_seed(seed)
    ends = torch.randint(nodes, (2, nodes), generator=generator)
    ends = ends[:, ends[0] != ends[1]]
    edges = torch.cat([ends, ends.flip(0)], dim=1).unique(dim=1)
    loops = torch.arange(nodes).expand(2, -1)
    x = torch.rand(nodes, 5, generator=generator)
    return Data(x=x, edge_index=torch.cat([edges, loops], dim=1), y=torch.tensor([seed % 2]))


def graphs() -> GraphSet:
    return GraphSet.from_list("some", [graph(nodes, seed) for seed, nodes in enumerate(SIZES)])


def page_rank(edges: Tensor, nodes: int) -> Tensor:
    """α (I − (1 − α) Â)⁻¹ with α = 0.2, dense."""
    dense = torch.zeros(nodes, nodes, dtype=torch.double).index_put((edges[1], edges[0]), torch.ones(1).double())
    degree = dense.sum(1)
    return 0.2 * torch.linalg.inv(torch.eye(nodes).double() - 0.8 * dense / (degree[:, None] * degree).sqrt())


def written_out(spread: kernels.Adjacency, weight: Tensor) -> Tensor:
    found = torch.zeros(spread.num_rows, spread.num_rows, dtype=torch.double)
    found[spread.row.long(), spread.col.long()] = weight.squeeze(1).double()
    return found


@pytest.mark.parametrize("solved", [1024, 8])  # graphs beyond the limit are summed up
def test_graphs_side_by_side_have_the_diffusion_of_each(solved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffused, "SOLVED", solved)
    batch = GraphStore(graphs()).take(torch.tensor([4, 1, 0, 3, 2, 5]))
    assert isinstance(batch.graph, kernels.Adjacency)
    parts = [graphs().graph(i) for i in (4, 1, 0, 3, 2, 5)]
    want = torch.block_diag(*(page_rank(part.edge_index, len(part.x)) for part in parts))
    found = written_out(*diffusion(batch.graph, 0.2, 64, 100))
    assert torch.allclose(found, want, atol=1e-6)
    assert not found[want == 0].any()
    few, _ = diffusion(batch.graph, 0.2, 2, 100)
    assert torch.bincount(few.col.long()).tolist() == (want > 0).sum(0).clamp(max=2).tolist()


def test_edges_that_go_one_way_are_followed_that_way() -> None:
    edges = torch.tensor([[0, 1, 2, 0, 1], [0, 1, 2, 1, 2]])
    small = kernels.adjacency(edges, 3)
    solved = written_out(*diffusion(small, 0.2, 3, 200))
    sender, receiver, value = diffused._summed(small, 0.2, 3, 200)
    summed = torch.zeros(3, 3, dtype=torch.double).index_put((receiver, sender), value.double())
    assert torch.allclose(solved, summed, atol=1e-6)
    assert solved[2, 0] > 0 and solved[0, 2] == 0  # what node 0 sends arrives at 2


def model() -> methods.MVGRL:
    torch.manual_seed(0)
    encoder = encoders.build("gcn-diffusion", in_channels=5, hidden_channels=8, num_layers=2, output="all")
    return methods.MVGRL(encoder, level="graph")


def test_the_order_of_graphs_in_a_batch_does_not_matter() -> None:
    made, store = model(), GraphStore(graphs())
    first, second = (float(made(store.take(torch.tensor(ids))).detach()) for ids in ([0, 1, 3, 4], [4, 0, 3, 1]))
    assert first == pytest.approx(second, abs=1e-5)
    rows = embed_graphs(made.encoder, graphs(), "sum")
    lone = [GraphSet.from_list("one", [graphs().graph(number)]) for number in range(len(SIZES))]
    alone = [embed_graphs(made.encoder, one, "sum") for one in lone]
    assert torch.allclose(rows, torch.cat(alone), atol=1e-4)


def test_nodes_of_one_view_are_compared_with_graphs_of_the_other() -> None:
    made = model()
    batch = GraphStore(graphs()).take(torch.arange(len(SIZES)))
    near, far = made.encoder.both(batch.x, batch.graph)
    assert near.shape == (sum(SIZES), 16) and torch.allclose(made.encode(batch), near + far)
    total = 0.0
    for nodes, other in ((near, far), (far, near)):
        local, whole = made.of_nodes(nodes[:, 8:]), made.of_graphs(batch.sum(other))
        positive, negative = [], []
        for u in range(len(local)):
            for g in range(len(whole)):
                r = local[u] @ whole[g]
                (positive if int(batch.batch[u]) == g else negative).append(r)  # type: ignore[index]
        # E⁺ = mean (log 2 − softplus(−r)), E⁻ = mean (softplus(−r) + r − log 2); the loss is E⁻ − E⁺.
        ours, theirs = torch.stack(positive), torch.stack(negative)
        gained = (math.log(2) - F.softplus(-ours)).mean()
        total += float(((F.softplus(-theirs) + theirs - math.log(2)).mean() - gained).detach())
    assert float(made(batch).detach()) == pytest.approx(total, abs=1e-4)


def test_every_weight_of_both_encoders_is_trained() -> None:
    """In the published code none is: its layers are in a plain list, which the optimiser does not see."""
    from graphmae.training import pretrain_model

    made = model()
    before = {name: value.detach().clone() for name, value in made.named_parameters()}
    parts = {name.split(".")[1] for name in before if name.startswith("encoder")}
    assert parts == {"near", "far", "near_end", "far_end"}
    settings = gm.recipe("mvgrl/mutag", "train.epochs=2", "train.batch_size=3").train
    pretrain_model(made, graphs(), settings, torch.device("cpu"))
    still = [name for name, value in made.named_parameters() if torch.equal(value, before[name])]
    assert not still


def test_a_graph_level_model_is_saved_and_embeds_the_same(tmp_path: Path) -> None:
    made = model()
    made.save_pretrained(tmp_path)
    again = gm.load(tmp_path)
    assert again.level == "graph"
    rows = [embed_graphs(one.encoder, graphs(), "sum") for one in (made, again)]
    assert torch.equal(*rows) and rows[0].shape == (len(SIZES), 16)


def test_a_single_graph_has_only_its_own_term() -> None:
    data = graph(9, 1)
    assert math.isfinite(float(model()(Batch(data.x, data.edge_index)).detach()))


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"method\.level"):
        gm.recipe("mvgrl/mutag", "method.level=edge")
