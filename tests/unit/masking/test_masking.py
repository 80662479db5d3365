from __future__ import annotations

import pytest
import torch

from graphmae.masking import RandomNodeMask, Remask, drop_edges
from graphmae.runtime.errors import ConfigError


def test_apply_treats_every_masked_row_and_no_other() -> None:
    x, token = torch.rand(40, 3) + 1, torch.full((3,), -1.0)
    draw = RandomNodeMask(rate=0.5, replace_rate=0.2, keep_rate=0.1).draw(40)
    seen = draw.apply(x, token)
    visible = torch.ones(40, dtype=torch.bool).index_fill(0, draw.masked, False)
    assert torch.equal(seen[visible], x[visible])
    assert (seen[draw.token] == -1).all()
    assert torch.equal(seen[draw.replaced], x[draw.donors])
    assert torch.equal(seen[draw.kept], x[draw.kept])
    assert (len(draw.token), len(draw.replaced), len(draw.kept)) == (14, 4, 2)


def test_the_token_gets_the_gradient_of_its_rows() -> None:
    x, token = torch.rand(10, 3), torch.zeros(3, requires_grad=True)
    draw = RandomNodeMask(rate=0.5).draw(10)
    draw.apply(x, token).sum().backward()
    assert torch.equal(token.grad, torch.full((3,), 5.0))


@pytest.mark.parametrize("rate", [0.0, 1.0, 1.5, -0.1, float("nan")])
def test_impossible_rates(rate: float) -> None:
    with pytest.raises(ConfigError, match="rate"):
        RandomNodeMask(rate=rate)


def test_shares_cannot_exceed_the_whole() -> None:
    with pytest.raises(ConfigError, match="at most 1"):
        RandomNodeMask(replace_rate=0.7, keep_rate=0.4)


def test_remask_kinds() -> None:
    hidden = RandomNodeMask(rate=0.4).draw(5)
    masked, visible = hidden.masked, hidden.visible
    code = torch.rand(3, 4)
    zeroed, nodes = Remask("zero", 4)(code, hidden, visible, compact=False)
    assert nodes is None
    assert (zeroed[masked] == 0).all()
    assert torch.equal(zeroed[visible], code)
    short, nodes = Remask("zero", 4)(code, hidden, visible, compact=True)
    assert short is code
    assert nodes is visible
    learnable = Remask("learnable", 4)
    torch.nn.init.ones_(learnable.token)
    out, nodes = learnable(code, hidden, visible, compact=True)
    assert nodes is None
    assert (out[masked] == 1).all()
    assert torch.equal(out[visible], code)
    out.sum().backward()
    assert torch.equal(learnable.token.grad, torch.full((4,), 2.0))
    with pytest.raises(ConfigError, match="did you mean 'learnable'"):
        Remask("learnabel", 4)


def test_dropped_edges_are_a_random_share() -> None:
    torch.manual_seed(0)
    edges = torch.randint(1000, (2, 20_000))
    kept = drop_edges(edges, 0.3)
    assert kept.size(1) / edges.size(1) == pytest.approx(0.7, abs=0.02)
    assert drop_edges(edges, 0.0) is edges


def test_the_published_rule_takes_its_share_of_the_batch_not_of_every_graph() -> None:
    torch.manual_seed(0)
    sizes = torch.tensor([2, 40, 3, 55])
    batch = torch.repeat_interleave(torch.arange(4), sizes)
    padded = torch.cat([batch, torch.full((20,), 4)])
    rule, alone = RandomNodeMask(0.25, per_graph=False), set()
    for _ in range(40):
        drawn = rule.draw(100, batch=batch)
        assert len(drawn.masked) == 25 and len(drawn.visible) == 75
        flags = rule.draw_padded(padded, sizes).masked
        assert int(flags.sum()) == 25 and not flags[100:].any()
        alone |= {int((batch[drawn.masked] == 0).sum()), int(flags[:2].sum())}
    assert alone == {0, 1, 2}  # a graph of two nodes: none, one or both


def test_rows_and_features_say_the_same_in_a_batch_of_graphs() -> None:
    torch.manual_seed(0)
    batch = torch.repeat_interleave(torch.arange(3), torch.tensor([4, 20, 9]))
    x, token = torch.rand(33, 5), torch.full((5,), 9.0)
    drawn = RandomNodeMask(0.5, replace_rate=0.2, keep_rate=0.1).draw(33, batch=batch)
    rows = drawn.rows_of(x, token)
    found = torch.empty_like(x)
    found[rows.nodes] = torch.cat([x[rows.rows], token.expand(rows.num_tokens, -1)])
    assert torch.equal(found, drawn.apply(x, token))
