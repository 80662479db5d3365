from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from graphmae import decoders, encoders, losses, masking
from graphmae.batching import Batch
from graphmae.methods import GraphMAE
from graphmae.runtime.errors import ConfigError


@pytest.mark.parametrize("remask", ["zero", "learnable", "none"])
@pytest.mark.parametrize("decoder", decoders.names())
@pytest.mark.parametrize("encoder", encoders.names())
def test_any_encoder_with_any_decoder_and_remask_learns(encoder: str, decoder: str, remask: str, tiny: Data) -> None:
    torch.manual_seed(0)
    model = GraphMAE(
        encoders.build(encoder, in_channels=6, hidden_channels=8),
        decoders.build(decoder, in_channels=8, out_channels=6),
        masking.RandomNodeMask(0.5, replace_rate=0.1),
        losses.ScaledCosineError(2),
        remask=remask,
        drop_edge=0.2,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    history = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = model(tiny.x, tiny.edge_index)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    assert sum(history[-10:]) < sum(history[:10])


def test_the_decoder_sees_the_whole_graph_and_the_encoder_a_part(tiny: Data) -> None:
    seen = {}
    model = GraphMAE(encoders.GCN(6, 8), decoders.GCN(8, 6), drop_edge=0.9)
    model.encoder.register_forward_hook(lambda m, args, out: seen.update(encoder=args[1].col.numel()))
    model.decoder.register_forward_hook(lambda m, args, out: seen.update(decoder=args[1].col.numel()))
    model(tiny.x, tiny.edge_index)
    assert seen["encoder"] < seen["decoder"] == tiny.edge_index.size(1)


def test_zero_remasking_hides_masked_codes_from_the_decoder(tiny: Data) -> None:
    captured = {}
    model = GraphMAE(encoders.GCN(6, 8), decoders.GCN(8, 6))
    model.decoder.register_forward_hook(
        lambda m, args, kwargs, out: captured.update(h=args[0], **kwargs), with_kwargs=True
    )
    model(tiny.x, tiny.edge_index)
    assert len(captured["rows"]) == 6
    assert len(captured["h"]) == len(captured["nodes"]) > 0
    assert not set(captured["nodes"].tolist()) & set(captured["rows"].tolist())
    assert captured["h"].abs().sum() > 0


def test_pointwise_decoders_read_the_masked_codes(tiny: Data) -> None:
    captured = {}
    model = GraphMAE(encoders.GCN(6, 8), decoders.MLP(8, 6), remask="zero")
    model.bridge.register_forward_hook(lambda m, args, out: captured.update(codes=out))
    model.decoder.register_forward_hook(
        lambda m, args, kwargs, out: captured.update(h=args[0], **kwargs), with_kwargs=True
    )
    model(tiny.x, tiny.edge_index)
    assert captured["nodes"] is captured["rows"]
    assert captured["codes"].shape == (6, 8)
    assert torch.equal(captured["h"], captured["codes"])


def test_widths_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="at most 6"):
        GraphMAE(encoders.GCN(6, 8), decoders.GCN(8, 7))
    with pytest.raises(ConfigError, match="drop_edge"):
        GraphMAE(encoders.GCN(6, 8), decoders.GCN(8, 6), drop_edge=1.0)


class Seen(torch.nn.Module):
    """Not a loss: keeps what it is given."""

    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        self.target = target
        return prediction.sum()


def test_a_masking_rule_may_look_at_the_whole_batch() -> None:
    """Masking by degree, in one class: `draw_in` sees features, edges and seeds."""

    class Hubs(masking.RandomNodeMask):
        def draw_in(self, batch: Batch) -> masking.MaskedNodes:
            degree = torch.bincount(batch.graph[1], minlength=len(batch.x))  # type: ignore[index]
            return masking.MaskedNodes.of(degree.topk(2).indices, len(batch.x))

    edges, x = torch.tensor([[1, 2, 3, 4, 0, 4], [0, 0, 0, 0, 1, 1]]), torch.rand(5, 3)
    model = GraphMAE(encoders.GCN(3, 4, num_layers=1), decoders.GCN(4, 3), mask=Hubs(), loss=Seen())
    for loss in (model.loss, model.plain_loss):
        loss(Batch(x, edges))
        assert torch.equal(model.criterion.target, x[[0, 1]])


def test_only_seeds_count_in_the_loss() -> None:
    """Of a sampled part of a graph, masked seeds are scored; what is masked beside them is context."""
    edges, x, seeds = torch.randint(20, (2, 60)), torch.rand(20, 3), torch.tensor([3, 19, 4, 8, 11, 0])
    model = GraphMAE(encoders.GCN(3, 4, num_layers=1), decoders.GCN(4, 3), loss=Seen())
    for loss in (model.loss, model.plain_loss):
        torch.manual_seed(0)
        masked = seeds[model.mask.draw(6).masked]
        torch.manual_seed(0)
        loss(Batch(x, edges, seeds=seeds))
        assert torch.equal(model.criterion.target, x[masked])
    hidden = masking.RandomNodeMask(rate=0.5, replace_rate=0.4).draw_in(Batch(x, edges, seeds=seeds))
    assert len(hidden.scored(seeds)) == 3 and len(hidden.masked) == 10  # half of the 6 seeds, half of the 14 others
    assert sorted([*hidden.masked.tolist(), *hidden.visible.tolist()]) == list(range(20))
    treated = [*hidden.token.tolist(), *hidden.replaced.tolist(), *hidden.kept.tolist()]
    assert sorted(treated) == sorted(hidden.masked.tolist())
    assert set(hidden.donors.tolist()) <= set(hidden.visible.tolist())

    class First(masking.RandomNodeMask):
        def draw_in(self, batch: Batch) -> masking.MaskedNodes:
            return masking.MaskedNodes.of(torch.arange(5), len(batch.x))

    model.mask = First()
    for loss in (model.loss, model.plain_loss):
        loss(Batch(x, edges, seeds=seeds))
        assert torch.equal(model.criterion.target, x[[0, 3, 4]])
