"""Losses that are computed in blocks, or in another order, are the equations of the papers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from graphmae import encoders, kernels, methods
from graphmae.batching import Batch
from graphmae.encoders.diffused import diffusion
from graphmae.methods.cca_ssg import standardized
from graphmae.methods.gae import _AllPairs
from graphmae.methods.grace import info_nce
from graphmae.methods.graphcl import on_simplex
from graphmae.methods.pairs import undirected
from graphmae.runtime.errors import ConfigError

_ONE_WAY = torch.tensor([[0, 0, 1, 2, 3, 4, 5, 6, 0, 2], [1, 3, 2, 4, 5, 7, 8, 7, 8, 6]])
EDGES = torch.cat([_ONE_WAY, _ONE_WAY.flip(0), torch.arange(9).expand(2, -1)], dim=1)


def _info_nce(u: Tensor, v: Tensor, tau: float) -> Tensor:
    def one(a: Tensor, b: Tensor) -> Tensor:
        cross, own = (a @ b.t() / tau).exp(), (a @ a.t() / tau).exp()
        return -(cross.diag() / (cross.sum(1) + own.sum(1) - own.diag())).log()

    return (one(u, v) + one(v, u)).mean() / 2


@pytest.mark.parametrize("nodes", [1, 7, 50])
@pytest.mark.parametrize("block", [1, 3, 64])
def test_info_nce_in_blocks_is_the_dense_one(nodes: int, block: int) -> None:
    torch.manual_seed(0)
    u, v = (torch.randn(nodes, 5, dtype=torch.double, requires_grad=True) for _ in range(2))
    dense = _info_nce(F.normalize(u), F.normalize(v), 0.3)
    ours = info_nce(F.normalize(u), F.normalize(v), torch.arange(nodes), 0.3, block)
    assert float(ours.detach()) == pytest.approx(float(dense.detach()), abs=1e-9)
    for a, b in zip(torch.autograd.grad(ours, (u, v)), torch.autograd.grad(dense, (u, v)), strict=True):
        assert torch.allclose(a, b, atol=1e-9)


def test_info_nce_compares_with_the_nodes_drawn_alone() -> None:
    torch.manual_seed(0)
    u, v = (F.normalize(torch.randn(6, 4, dtype=torch.double)) for _ in range(2))
    among, tau, total = torch.tensor([1, 4]), 0.5, 0.0
    for a, b in ((u, v), (v, u)):
        for i in range(6):
            others = [j for j in among.tolist() if j != i]
            below = math.exp(a[i] @ b[i] / tau) + sum(
                math.exp(a[i] @ b[j] / tau) + math.exp(a[i] @ a[j] / tau) for j in others
            )
            total -= math.log(math.exp(a[i] @ b[i] / tau) / below)
    assert float(info_nce(u, v, among, tau, 4)) == pytest.approx(total / 12)


def test_gae_over_all_pairs_is_the_published_loss() -> None:
    torch.manual_seed(0)
    z = torch.randn(9, 4, dtype=torch.double, requires_grad=True)
    dense = torch.zeros(9, 9, dtype=torch.double)
    dense[EDGES[0], EDGES[1]] = 1
    label, joined = dense.clone().fill_diagonal_(1), dense.clone().fill_diagonal_(0).sum()
    weight, scale = (81 - joined) / joined, 81 / (2 * (81 - joined))
    want = scale * F.binary_cross_entropy_with_logits(z @ z.t(), label, pos_weight=weight)
    got = _AllPairs.apply(z, *undirected(kernels.adjacency(EDGES, 9)).ends, 4)
    assert float(got.detach()) == pytest.approx(float(want.detach()))
    assert torch.allclose(torch.autograd.grad(got, z)[0], torch.autograd.grad(want, z)[0])


def test_vgae_has_two_last_layers_over_one_first_and_the_published_penalty() -> None:
    torch.manual_seed(0)
    encoder = encoders.GCN(5, hidden_channels=4, out_channels=3, dropout=0.0, plain_output=True, bias=False)
    model = methods.GAE(encoder, variational=True).eval()
    batch = Batch(torch.rand(9, 5), EDGES)
    hidden, mean = encoder.every_block(batch.x, EDGES)
    assert torch.equal(mean, encoder(batch.x, EDGES))
    assert model.deviation is not None
    other = model.deviation.conv.weight
    assert not torch.equal(other, encoder.blocks[1].conv.weight)
    averaged = kernels.aggregate(
        kernels.View(adj := kernels.adjacency(EDGES, 9)), hidden.unsqueeze(1), adj.symmetric_weight
    ).squeeze(1)
    log_deviation = averaged @ other.t()
    kl = -0.5 / 9 * (1 + 2 * log_deviation - mean**2 - (2 * log_deviation).exp()).sum(1).mean()
    want = _AllPairs.apply(mean, *undirected(adj).ends) + kl
    assert float(model(batch).detach()) == pytest.approx(float(want.detach()), abs=1e-6)
    model.train()
    assert float(model(batch).detach()) != pytest.approx(float(want.detach()), abs=1e-6)  # codes are drawn


def test_vgae_refuses_an_encoder_without_a_layer_before_the_last() -> None:
    with pytest.raises(ConfigError, match="two layers"):
        methods.GAE(encoders.GCN(5, hidden_channels=4, num_layers=1), variational=True)


def test_cca_takes_a_constant_column_and_has_the_published_loss() -> None:
    torch.manual_seed(0)
    rows = torch.randn(20, 3)
    rows[:, 1] = 2.0
    z = standardized(rows)
    assert torch.isfinite(z).all() and bool((z[:, 1] == 0).all())
    assert torch.allclose(z[:, 0].std(), torch.tensor(1.0), atol=1e-5)
    model = methods.CCASSG(encoders.GCN(5, hidden_channels=4, dropout=0.0), drop_edge=0.0, mask_feature=0.0)
    batch = Batch(torch.rand(9, 5), EDGES)
    z = standardized(model.encode(batch))
    off = (torch.eye(4) - z.t() @ z / 9).square().sum()
    want = -(z.t() @ z).diagonal().sum() / 9 + 2 * model.decorrelate * off
    assert float(model(batch).detach()) == pytest.approx(float(want.detach()), abs=1e-4)


def test_infograph_has_the_published_loss() -> None:
    torch.manual_seed(0)
    model = methods.InfoGraph(encoders.GIN(5, hidden_channels=4, num_layers=2, output="all", dropout=0.0)).eval()
    batch = Batch(torch.rand(9, 5), EDGES[:, (EDGES[0] < 5) == (EDGES[1] < 5)], torch.tensor([0] * 5 + [1] * 4))
    code = model.encode(batch)
    graphs = model.of_graphs(torch.stack([code[:5].sum(0), code[5:].sum(0)]))
    r = model.of_nodes(code) @ graphs.t()
    own = torch.zeros(9, 2, dtype=torch.bool)
    own[:5, 0] = own[5:, 1] = True
    positive = (math.log(2) - F.softplus(-r))[own].sum() / 9
    negative = (F.softplus(-r) + r - math.log(2))[~own].sum() / 9
    assert float(model(batch).detach()) == pytest.approx(float((negative - positive).detach()), abs=1e-5)


def test_the_diffusion_is_personalised_page_rank() -> None:
    adj = kernels.adjacency(EDGES, 9)
    dense = torch.zeros(9, 9)
    dense[EDGES[1], EDGES[0]] = 1
    degree = dense.sum(1)
    dense = dense / (degree[:, None] * degree).sqrt()
    want = 0.2 * torch.linalg.inv(torch.eye(9) - 0.8 * dense)
    spread, weight = diffusion(adj, 0.2, 9, 100)
    found = torch.zeros(9, 9)
    found[spread.row.long(), spread.col.long()] = weight.squeeze(1)
    assert torch.allclose(found, want, atol=1e-5)
    few, _ = diffusion(adj, 0.2, 3, 100)
    assert len(few.col) == 27
    assert diffusion(adj, 0.2, 3, 100)[0] is few


def test_joao_projects_on_the_simplex() -> None:
    torch.manual_seed(0)
    for values in (torch.randn(5), torch.tensor([0.2, 0.3, 0.5]), torch.tensor([9.0, -9.0])):
        found = on_simplex(values)
        assert float(found.sum()) == pytest.approx(1.0, abs=1e-5) and bool((found >= 0).all())
    assert torch.allclose(on_simplex(torch.tensor([0.2, 0.3, 0.5])), torch.tensor([0.2, 0.3, 0.5]))
