"""One test for every trap of the published code (shared METHOD, §5) that concerns masking, loss, encoders, seeds or
configuration. The names say which."""

from __future__ import annotations

import math

import pytest
import torch

import graphmae as gm
from graphmae import decoders, encoders
from graphmae.losses import ScaledCosineError
from graphmae.masking import RandomNodeMask, drop_edges
from graphmae.runtime.errors import ConfigError
from graphmae.runtime.seed import seed_everything

EDGES = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3], [1, 0, 3, 2, 0, 1, 2, 3]])


def test_trap_truncation_left_a_masked_node_visible_but_scored() -> None:
    draw = RandomNodeMask(rate=0.5, replace_rate=0.05).draw(2708)
    assert len(draw.masked) == 1354
    treated = torch.cat([draw.token, draw.replaced, draw.kept])
    assert torch.equal(treated.sort().values, draw.masked.sort().values)


def test_trap_a_share_that_rounds_to_zero_selected_all() -> None:
    draw = RandomNodeMask(rate=0.5, replace_rate=0.1).draw(4)
    assert len(draw.replaced) == 0
    assert len(draw.token) == 2


def test_trap_substitution_drew_from_masked_nodes_and_from_itself() -> None:
    for seed in range(50):
        torch.manual_seed(seed)
        draw = RandomNodeMask(rate=0.8, replace_rate=0.5).draw(20)
        assert not set(draw.donors.tolist()) & set(draw.masked.tolist())


def test_trap_a_small_graph_could_be_masked_whole_or_not_at_all() -> None:
    for n in range(2, 8):
        for rate in (0.01, 0.5, 0.99):
            assert 1 <= len(RandomNodeMask(rate=rate).draw(n).masked) <= n - 1


def test_trap_the_share_was_taken_over_a_whole_batch() -> None:
    sizes = torch.tensor([2, 100, 3, 1, 7])
    batch = torch.repeat_interleave(torch.arange(5), sizes)
    for seed in range(50):
        torch.manual_seed(seed)
        draw = RandomNodeMask(rate=0.5, replace_rate=0.1).draw(113, "cpu", batch)
        assert torch.bincount(batch[draw.masked], minlength=5).tolist() == [1, 50, 2, 1, 4]
        assert sorted(torch.cat([draw.masked, draw.visible]).tolist()) == list(range(113))


def test_trap_batches_reach_the_mask_with_their_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = RandomNodeMask.draw
    monkeypatch.setattr(
        RandomNodeMask, "draw", lambda self, n, d, batch=None: seen.append(batch) or original(self, n, d, batch)
    )
    graphs = [gm.data.load("synthetic", num_nodes=60 + 6 * i).graphs[0] for i in range(2)]
    model = gm.GraphMAE(encoders.GCN(600, 4), decoders.GCN(4, 600))
    gm.pretrain(model, graphs, epochs=1, batch_size=2, progress=False, device="cpu")
    assert sorted(torch.bincount(seen[-1]).tolist()) == [60, 66]


def test_trap_a_cosine_above_one_gave_nan_for_a_fractional_gamma() -> None:
    torch.manual_seed(0)
    x = torch.rand(5000, 50)
    z = (x * 3).requires_grad_()
    loss = ScaledCosineError(gamma=1.5)(z, x)
    loss.backward()
    assert math.isfinite(loss.item())
    assert torch.isfinite(z.grad).all()


def test_trap_all_zero_targets_gave_a_constant_loss() -> None:
    x, z = torch.rand(6, 4), torch.rand(6, 4)
    with_zeros = torch.cat([x, torch.zeros(3, 4)]), torch.cat([z, torch.rand(3, 4)])
    loss = ScaledCosineError(gamma=2)
    assert torch.allclose(loss(with_zeros[1], with_zeros[0]), loss(z, x))
    assert loss.left_out(with_zeros[0]) == 3
    assert float(loss(z, torch.zeros(6, 4))) == 0


def test_trap_concatenated_layers_were_trained_on_but_not_returned() -> None:
    encoder = encoders.GCN(in_channels=5, hidden_channels=8, num_layers=3, output="all")
    model = gm.GraphMAE(encoder, decoders.GCN(in_channels=8, out_channels=5))
    assert encoder(torch.rand(4, 5), EDGES).shape == (4, 24)
    assert model.bridge.in_features == 24
    assert torch.isfinite(model(torch.rand(4, 5), EDGES))


def test_trap_several_output_heads_crashed() -> None:
    decoder = decoders.GAT(in_channels=8, out_channels=5, heads=3)
    assert decoder(torch.rand(4, 8), EDGES, rows=torch.tensor([0, 2])).shape == (2, 5)


def test_trap_a_one_layer_gat_lost_its_activation() -> None:
    encoder = encoders.GAT(in_channels=5, hidden_channels=8, num_layers=1, heads=2, activation="relu").eval()
    assert (encoder(torch.randn(4, 5), EDGES) >= 0).all()


def test_trap_a_misspelt_decoder_took_the_wrong_branch() -> None:
    with pytest.raises(ConfigError, match="did you mean 'linear'"):
        gm.recipe("node/cora", "decoder.name=liear")


def test_trap_determinism_was_never_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("torch.use_deterministic_algorithms", lambda on: asked.append(on))
    model = gm.GraphMAE(encoders.GCN(6, 4), decoders.GCN(4, 6))
    gm.pretrain(model, gm.data.load("synthetic", num_words=6, num_nodes=60), epochs=1, progress=False, device="cpu")
    assert True in asked


def test_trap_probing_consumed_the_training_randomness() -> None:
    dataset = gm.data.load("synthetic", num_nodes=120)
    recipe = gm.recipe("default", "train.epochs=1", "evaluation.epochs=3", "evaluation.supervised_epochs=2")
    seed_everything(0)
    expected = torch.rand(3)
    seed_everything(0)
    from graphmae.evaluation import evaluator_for
    from graphmae.methods import build

    network = build(recipe, dataset.in_channels)
    seed_everything(0)
    evaluator = evaluator_for(dataset, recipe.evaluation, torch.device("cpu"))
    evaluator.rows(network.encoder, lambda: build(recipe, dataset.in_channels).encoder, [5])
    assert torch.equal(torch.rand(3), expected)


def test_trap_the_default_command_ran_supervised_fine_tuning(tmp_path) -> None:  # type: ignore[no-untyped-def]
    result = gm.run(
        "default",
        out=tmp_path / "run",
        overrides=["train.epochs=2", "evaluation.epochs=2", "evaluation.supervised_epochs=1", "data.num_nodes=120"],
        progress=False,
        device="cpu",
    )
    assert result.scores == result.column("pretrained", "last")
    assert set(result.summary()["baselines"]) == {
        "raw",
        "averaged",
        "propagated",
        "netmf",
        "netmf-propagated",
        "untrained",
        "supervised",
    }


def test_trap_a_config_file_overrode_the_command_line() -> None:
    assert gm.recipe("node/cora", "train.lr=0.5").train.lr == 0.5


def test_trap_unknown_config_keys_were_ignored() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'evaluation\.epochs'"):
        gm.recipe("node/cora", "evaluation.epoch=3")


def test_trap_edge_dropping_doubled_self_loops() -> None:
    kept = drop_edges(EDGES, 0.5)
    loops = kept[0] == kept[1]
    assert int(loops.sum()) == 4
    assert kept.unique(dim=1).size(1) == kept.size(1)


def test_trap_reddits_scaler_saw_test_nodes() -> None:
    from torch_geometric.data import Data

    from graphmae.data import NodeDataset, prepare

    def scaled(test_value: float) -> torch.Tensor:
        x = torch.tensor([[0.0], [2.0], [test_value]])
        data = Data(x=x, edge_index=torch.empty(2, 0, dtype=torch.long), y=torch.tensor([0, 1, 0]))
        data.train_mask = torch.tensor([True, True, False])
        data.val_mask, data.test_mask = torch.tensor([False, False, True]), torch.tensor([False, False, True])
        return prepare(NodeDataset.transductive("three", data), "standardize", False).graphs[0].x

    assert torch.equal(scaled(5.0)[:2], scaled(1e6)[:2])
    assert torch.allclose(scaled(5.0)[:2].flatten(), torch.tensor([-1.0, 1.0]))


def test_trap_checkpoints_were_pickles_at_one_fixed_path(tmp_path) -> None:  # type: ignore[no-untyped-def]
    model = gm.GraphMAE(encoders.GCN(6, 4), decoders.GCN(4, 6))
    model.save_pretrained(tmp_path / "a")
    model.save_pretrained(tmp_path / "b")
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["README.md", "config.json", "model.safetensors"]
    for path in (tmp_path / "a").iterdir():
        assert not path.read_bytes().startswith((b"\x80", b"PK"))


def test_trap_the_decoders_first_gradient_froze_its_bias() -> None:
    """A masked node among masked neighbours decodes to zeros and sends 1e12 into the bias. With `trained` that is
    reproduced, since the published numbers depend on it; `fixed` is the same end point without the explosion."""
    codes, rows, target = torch.zeros(4, 4), torch.arange(4), torch.rand(4, 6)
    published = decoders.GAT(in_channels=4, out_channels=6, bias="trained")
    ScaledCosineError()(published(codes, EDGES, rows), target).backward()
    assert published.bias.grad.abs().max() > 1e9
    assert all(p.grad.abs().max() == 0 for name, p in published.named_parameters() if name != "bias")
    sound = decoders.GAT(in_channels=4, out_channels=6, bias="fixed")
    ScaledCosineError()(sound(codes, EDGES, rows), target).backward()
    assert all(p.grad.abs().max() < 1e3 for p in sound.parameters())


@pytest.mark.parametrize("name", ["gcn", "gin", "molecule-gin"])
def test_trap_only_the_gat_decoder_starts_from_a_bias_of_zeros(name: str) -> None:
    """The published GCN and GIN decoders start elsewhere, and so do not have the frozen bias: another ablation."""
    decoder = decoders.build(name, in_channels=16, out_channels=400)
    bound = {"gcn": 16, "gin": 16, "molecule-gin": 32}[name] ** -0.5
    assert 0.8 * bound < decoder.bias.abs().max() <= bound
    assert not decoders.GAT(in_channels=16, out_channels=400, bias="trained").bias.any()
    edges = torch.arange(4).expand(2, -1)
    ScaledCosineError()(decoder(torch.zeros(4, 16), edges, torch.arange(4)), torch.rand(4, 400)).backward()
    assert decoder.bias.grad.abs().max() < 1e3


def test_trap_the_mlp_decoder_drops_out_between_its_maps_not_before() -> None:
    decoder = decoders.MLP(in_channels=4, out_channels=5, num_layers=1, dropout=0.9)
    codes = torch.rand(6, 4)
    assert torch.equal(decoder(codes, EDGES, None), decoder(codes, EDGES, None))  # one map: nothing is dropped
    deeper = decoders.MLP(in_channels=4, out_channels=5, num_layers=2, dropout=0.9)
    assert not torch.equal(deeper(codes, EDGES, None), deeper(codes, EDGES, None))
    deeper.eval()
    assert torch.equal(deeper(codes, EDGES, None), deeper(codes, EDGES, None))


def test_trap_molecules_mask_one_atom_more_than_the_rate() -> None:
    mask = RandomNodeMask(rate=0.25, count="one-more")
    for n in range(2, 60):
        expected = min(int(0.25 * n + 1), n - 1)
        assert len(mask.draw(n).masked) == expected
    sizes = torch.tensor([3, 8, 21])
    batch = torch.arange(3).repeat_interleave(sizes)
    drawn = mask.draw(len(batch), batch=batch).masked
    assert torch.bincount(batch[drawn]).tolist() == [1, 3, 6]
    padded = mask.draw_padded(batch, sizes)
    assert torch.bincount(batch[padded.masked]).tolist() == [1, 3, 6]


def test_trap_a_masked_atom_has_an_embedding_of_its_own() -> None:
    torch.manual_seed(0)
    own = gm.GraphMAE(
        encoders.MoleculeGIN(124, hidden_channels=300, mask_embedding=True), decoders.GIN(300, 119),
        mask=RandomNodeMask(0.25, count="one-more"),
    )  # fmt: skip
    assert own.mask_token.shape == (300,)
    bound = (6 / (125 + 300)) ** 0.5  # Xavier, as one row more in the table of atoms
    assert 0.9 * bound < own.mask_token.abs().max() <= bound
    assert float(own.encoder.embed.weight.detach().abs().max()) == pytest.approx((6 / 424) ** 0.5, rel=0.02)
    seen = []
    own.encoder.blocks[0].register_forward_hook(lambda block, inputs, out: seen.append(inputs[0].detach()))
    x = torch.eye(124)[torch.randint(119, (8,))]
    edges = torch.cat([torch.arange(8).expand(2, -1), torch.stack([torch.arange(7), torch.arange(1, 8)])], 1)
    own(x, edges).backward()
    token_rows = (seen[0] == own.mask_token.detach()).all(1)
    assert int(token_rows.sum()) == int(0.25 * 8 + 1)
    assert torch.allclose(seen[0][~token_rows], own.encoder.embed(x)[~token_rows])
    assert own.mask_token.grad.abs().sum() > 0
    old = gm.GraphMAE(encoders.MoleculeGIN(124, hidden_channels=300), decoders.GIN(300, 119))
    assert old.mask_token.shape == (124,)  # checkpoints from before keep their meaning
