"""Views: what they hold, that nothing of a graph leaks into another, and that a checkpoint has them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import graphmae as gm
from graphmae.encoders import GCN, VIEWS, Composed, Views
from graphmae.inference.embedding import propagated
from graphmae.runtime.errors import ConfigError, InputError


def graph(features: int = 40, nodes: int = 120, seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    x = (torch.rand(nodes, features, generator=generator) < 0.2).float()
    ends = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    loops = torch.arange(nodes).expand(2, -1)
    return Data(x=x, edge_index=torch.cat([ends, ends.flip(0), loops], dim=1))


def made(data: Data, width: int = 256) -> tuple[Views, GCN]:
    encoder = GCN(Views.input_channels(data.x.size(1), width), hidden_channels=8, num_layers=1)
    views = Views.fit([data], 8, width=width)
    views.settle(encoder, [data])
    return views, encoder.eval()


def test_every_view_has_the_same_mean_length_and_no_mean() -> None:
    data = graph()
    views, encoder = made(data)
    rows = views.composed(encoder, data.x, data.edge_index)
    assert rows.shape == (120, views.out_channels) and views.out_channels == 3 * 40 + 7 + 8
    own, one, two, structure, learned = rows.split([40, 40, 40, 7, 8], dim=1)
    for part in (own / views.own_share, one, two, structure / views.structure_share, learned):
        assert torch.allclose(part.mean(0), torch.zeros(part.size(1)), atol=1e-5)
        assert float(part.detach().square().sum(1).mean()) == pytest.approx(1, abs=1e-4)


def test_views_of_narrow_features_count_by_their_columns() -> None:
    data = graph(features=4)
    encoder = GCN(Views.input_channels(4, 256), hidden_channels=16, num_layers=1)
    views = Views.fit([data], 16)
    views.settle(encoder, [data])
    rows = views.composed(encoder.eval(), data.x, data.edge_index).detach()
    one, learned = rows[:, 4:8], rows[:, -16:]
    assert float(one.square().sum(1).mean()) == pytest.approx(4 / 16, abs=1e-4)
    assert float(learned.square().sum(1).mean()) == pytest.approx(1, abs=1e-4)


def test_structure_that_features_tell_nothing_of_counts_little() -> None:
    """Degrees that are drawn, and degrees that one of the columns follows."""
    generator = torch.Generator().manual_seed(0)
    wanted = torch.rand(400, generator=generator).square()
    ends = torch.stack([torch.multinomial(wanted, 2000, True, generator=generator) for _ in range(2)])
    edges = torch.unique(torch.cat([ends, ends.flip(0)], dim=1), dim=1)
    noise = torch.randn(400, 12, generator=generator)
    drawn = Views.fit([Data(x=noise, edge_index=edges)], 8).structure_share
    assert float(drawn[0]) < 0.5
    known = torch.cat([noise, wanted.unsqueeze(1)], dim=1)
    assert float(Views.fit([Data(x=known, edge_index=edges)], 8).structure_share[0]) == 1


def test_counts_are_weighed_by_rarity_and_numbers_standardised() -> None:
    data = graph()
    rarity = torch.log(120 / data.x.sum(0))
    bag = torch.nn.functional.normalize(data.x * rarity)
    views, _ = made(data)
    own = views._plain(data.x, data.edge_index)["own"]
    assert torch.allclose(own, bag - bag.mean(0), atol=1e-5)
    numbers = Data(x=3 + 5 * torch.randn(120, 6), edge_index=data.edge_index)
    own = made(numbers)[0]._plain(numbers.x, numbers.edge_index)["own"]
    assert torch.allclose(own.std(0, correction=0), torch.ones(6), atol=1e-4)


def test_hops_are_averages_of_what_was_reduced() -> None:
    data = graph(features=400)
    views, _ = made(data, width=32)
    plain = views._plain(data.x, data.edge_index)
    assert plain["own"].shape == (120, 32)
    for name, steps in (("one", 1), ("two", 2)):
        assert torch.allclose(plain[name], propagated(plain["own"], data.edge_index, steps), atol=1e-5)
    kept = plain["own"].square().sum() / (views._treated(data.x) - views.mean).square().sum()
    assert 0.3 < float(kept) <= 1


def test_a_node_is_seen_the_same_beside_others() -> None:
    """Statistics are those of training: a second component does not change the first one's rows."""
    data, other = graph(), graph(seed=1)
    views, encoder = made(data)
    both = Data(x=torch.cat([data.x, other.x]), edge_index=torch.cat([data.edge_index, other.edge_index + 120], dim=1))
    alone = views.composed(encoder, data.x, data.edge_index)
    assert torch.allclose(views.composed(encoder, both.x, both.edge_index)[:120], alone, atol=1e-4)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown view 'all'"):
        Views(3, 4, ("all",))


@pytest.mark.data
def test_many_graphs_have_no_views() -> None:
    with pytest.raises(InputError, match="single graphs"):
        gm.run(gm.recipe("graph/mutag", "embedding.views=['own']"), [0])


def test_a_checkpoint_gives_the_same_embeddings(tmp_path: Path) -> None:
    data = graph(features=300)
    model = gm.pretrain("auto", data, 2, tmp_path / "m", device="cpu", progress=False)
    rows = gm.embed(model, data)
    assert rows.shape == (120, 3 * 256 + 7 + 256)
    assert torch.equal(gm.embed(tmp_path / "m", data), rows)
    loaded = gm.load(tmp_path / "m")
    assert isinstance(loaded.reader, Composed) and loaded.views is not None and loaded.views.names == VIEWS
    plain = gm.pretrain("default", data, 2, device="cpu", progress=False)
    assert plain.reader is plain.encoder
