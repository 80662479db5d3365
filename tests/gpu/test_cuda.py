"""What only a CUDA device can show. Run on one: python -m pytest tests/gpu"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae import kernels, model
from graphmae.data import GraphSet
from graphmae.kernels import reference
from graphmae.training import GraphStore, TrainingState, pretrain_model

pytestmark = pytest.mark.gpu
cuda = pytest.importorskip("graphmae.kernels.cuda", reason="Triton is not installed", exc_type=ImportError)


def close(got: tuple[torch.Tensor, ...], want: tuple[torch.Tensor, ...]) -> None:
    for a, b in zip(got, want, strict=True):
        assert (a - b).norm() <= 1e-5 * b.norm() + 1e-6


def some_view(restricted: bool) -> kernels.View:
    torch.manual_seed(1)
    adj = kernels.adjacency(torch.randint(300, (2, 2000), device="cuda"), 310)
    if not restricted:
        return kernels.View(adj)
    order = torch.randperm(310, device="cuda")
    return kernels.View(adj.kept(torch.rand(2000, device="cuda") < 0.6), order[:100], order[50:])


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("channels", [3, 130, 700])
def test_aggregate_agrees_with_the_reference_in_float64(channels: int, heads: int, restricted: bool) -> None:
    view = some_view(restricted)
    x = torch.randn(view.given.numel(), heads, channels, device="cuda", requires_grad=True)
    weight = torch.rand(2000, heads, device="cuda", requires_grad=True)
    grad = torch.randn(view.num_rows, heads, channels, device="cuda")
    fast, slow = cuda.aggregate(view, x, weight), reference.aggregate(view, x.double(), weight.double())
    close(
        (fast, *torch.autograd.grad(fast, (x, weight), grad)),
        (slow, *torch.autograd.grad(slow, (x, weight), grad.double())),
    )


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("channels", [3, 130, 700])
def test_attend_agrees_with_the_reference_in_float64(channels: int, shared: bool, restricted: bool) -> None:
    view = some_view(restricted)
    x = torch.randn(view.given.numel(), 1 if shared else 4, channels, device="cuda", requires_grad=True)
    vectors = torch.randn(2, 4, channels, device="cuda", requires_grad=True)
    grad = torch.randn(view.num_rows, 4, channels, device="cuda")
    bias = torch.randn(4, channels, device="cuda", requires_grad=True)
    fast = cuda.attend(view, x, vectors, 0.2, 0.0, bias)
    slow = reference.attend(view, x.double(), vectors.double(), 0.2, 0.0, bias.double())
    close(
        (fast, *torch.autograd.grad(fast, (x, vectors, bias), grad)),
        (slow, *torch.autograd.grad(slow, (x, vectors, bias), grad.double())),
    )


def test_attention_dropout_drops_its_share_and_its_gradient_the_same_edges() -> None:
    adj = kernels.adjacency(torch.stack([torch.arange(4000), torch.zeros(4000, dtype=torch.long)]).cuda(), 4000)
    x = torch.ones(4000, 2, 3, device="cuda", requires_grad=True)
    out = kernels.attend(kernels.View(adj), x, torch.zeros(2, 2, 3, device="cuda"), 0.2, 0.4, training=True)
    out[0].sum().backward()
    assert x.grad is not None
    assert float((x.grad == 0).float().mean()) == pytest.approx(0.4, abs=0.05)
    assert float(x.grad.sum()) == pytest.approx(float(out[0].detach().sum()), rel=1e-4)


@pytest.mark.parametrize(("rows", "real", "channels"), [(70, 61, 5), (6000, 5500, 600), (512, 512, 512)])
def test_batch_norm_agrees_with_the_reference_in_float64(rows: int, real: int, channels: int) -> None:
    x = torch.randn(rows, channels, device="cuda") * 2 + 3
    values = [x, torch.rand(channels).cuda(), torch.randn(channels).cuda(), torch.tensor([0.25]).cuda()]
    inputs, grad = [t.requires_grad_() for t in values], torch.randn(rows, channels, device="cuda")
    valid = torch.tensor(real, dtype=torch.int32, device="cuda")
    fast = cuda.batch_norm(*inputs, 1e-5, valid)
    slow = reference.batch_norm(*(t.double() for t in inputs), 1e-5, valid)
    assert (fast[0] - slow[0]).abs().max() < 1e-4
    for a, b in zip(
        torch.autograd.grad(fast[0], inputs, grad), torch.autograd.grad(slow[0], inputs, grad.double()), strict=True
    ):
        assert (a - b).norm() <= 2e-3 * b.norm() + 1e-4  # a value beside the activation's kink may fall on either side


def test_cosine_agrees_with_the_reference_in_float64() -> None:
    z, x = torch.randn(50, 1433, device="cuda"), torch.randn(50, 1433, device="cuda")
    z[0] = 0
    z.requires_grad_()
    grad = torch.randn(50, device="cuda")
    (fast, _), (slow, _) = cuda.cosine(z, x, 1e-12), reference.cosine(z.double(), x.double(), 1e-12)
    close((fast, *torch.autograd.grad(fast, z, grad)), (slow, *torch.autograd.grad(slow, z, grad.double())))


@pytest.mark.parametrize("encoder", ["gat", "gcn", "gin"])
def test_a_step_on_cuda_agrees_with_the_cpu(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = ["encoder.dropout=0", "decoder.dropout=0", "decoder.attention_dropout=0"]
    quiet += ["encoder.attention_dropout=0"] if encoder == "gat" else []
    recipe = gm.recipe("default", f"encoder.name={encoder}", *quiet)
    dataset = gm.data.load("synthetic")
    graph = dataset.graphs[0]
    torch.manual_seed(0)
    network = model.build(recipe, dataset.in_channels)
    draw = network.mask.draw(graph.num_nodes)
    results = []
    torch.set_float32_matmul_precision("highest")
    for device in ("cpu", "cuda"):
        network.to(device).zero_grad()
        moved = type(draw)(**{key: value.to(device) for key, value in vars(draw).items()})
        monkeypatch.setattr(type(network.mask), "draw", lambda *_, moved=moved: moved)
        loss = network(graph.x.to(device), graph.edge_index.to(device))
        loss.backward()
        grads = [p.grad.cpu().clone() for p in network.parameters() if p.grad is not None]
        results.append([loss.detach().cpu(), *grads])
    for a, b in zip(*results, strict=True):
        assert (a - b).norm() <= 1e-3 * b.norm() + 1e-4


@pytest.mark.parametrize("drop_edge", [0.0, 0.3])
def test_a_captured_run_learns_like_an_eager_one(drop_edge: float, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = gm.recipe("default", "train.epochs=60", f"mask.drop_edge={drop_edge}")
    dataset = gm.data.load("synthetic")
    losses = []
    for captured in (True, False):
        if not captured:
            monkeypatch.setattr(model.GraphMAE, "has_fixed_shapes", property(lambda self: False))
        torch.manual_seed(0)
        network = model.build(recipe, dataset.in_channels)
        outcome = pretrain_model(network, dataset.pretrain_graphs(), recipe.train, torch.device("cuda"))
        losses.append(outcome.loss)
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
    assert losses[0] < 0.9


def test_recorded_batches_learn_like_taken_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)

    def ring(n: int) -> Data:
        kind = torch.randint(4, (n,), generator=generator).sort().values
        around = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
        loops = torch.arange(n).expand(2, -1)
        return Data(x=torch.eye(4)[kind], edge_index=torch.cat([around, around.flip(0), loops], dim=1))

    sizes = torch.randint(2, 40, (300,), generator=generator).tolist()
    graphs = GraphSet.from_list("rings", [ring(n) for n in sizes])
    recipe = gm.recipe(
        "default", "encoder.name=gin", "decoder.name=gin", "encoder.hidden_channels=64", "encoder.norm=batch",
        "decoder.norm=batch", "mask.replace_rate=0.1", "train.epochs=30", "train.batch_size=16", "loss.gamma=1",
    )  # fmt: skip
    losses = []
    for recorded in (True, False):
        if not recorded:
            monkeypatch.setattr(model.GraphMAE, "takes_padding", property(lambda self: False))
        torch.manual_seed(0)
        network = model.build(recipe, 4)
        losses.append(pretrain_model(network, graphs, recipe.train, torch.device("cuda")).loss)
        batch = GraphStore(graphs, "cuda").take(torch.arange(16))
        assert torch.isfinite(network.eval().encoder(batch.x, batch.graph)).all()
    assert losses[0] == pytest.approx(losses[1], rel=0.1)
    assert losses[0] < 0.3


def test_resume_on_cuda_restores_weights_and_generators(tmp_path: Path) -> None:
    recipe = gm.recipe("default", "train.epochs=12")
    dataset = gm.data.load("synthetic")
    torch.manual_seed(0)
    network = model.build(recipe, dataset.in_channels)
    state, place = TrainingState(tmp_path / "state.safetensors"), torch.device("cuda")
    pretrain_model(network, dataset.pretrain_graphs(), recipe.train, place, state=state, seconds_between_saves=0)
    again = model.build(recipe, dataset.in_channels)
    pretrain_model(again, dataset.pretrain_graphs(), recipe.train, place, state=state, resume=True)
    for a, b in zip(network.parameters(), again.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-3)
