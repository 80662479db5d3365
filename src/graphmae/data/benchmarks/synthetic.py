"""A citation graph made in code: topics, words, homophily. For tests, docs and machines with no data at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from ...runtime.errors import ConfigError
from ..dataset import REGISTRY
from ..nodes import NodeDataset
from ..scaling import Features, prepare


@REGISTRY.register("synthetic")
def synthetic(
    root: str | Path | None = None,
    num_nodes: int = 1500,
    num_topics: int = 6,
    num_words: int = 600,
    words_per_node: int = 12,
    topic_share: float = 0.35,
    citations_per_node: int = 2,
    homophily: float = 0.75,
    seed: int = 0,
    features: Features = "row-normalize",
    self_loops: bool = True,
) -> NodeDataset:
    """A small synthetic citation graph, the same on every machine.

    Every paper has a topic. A `topic_share` of its words comes from the topic's own vocabulary, the rest from all
    words; a `homophily` share of its citations goes to papers of the same topic. `root` is not used.
    """
    if num_topics < 1 or citations_per_node < 0 or seed < 0:
        raise ConfigError("data.num_topics must be at least 1, data.citations_per_node and data.seed at least 0")
    if num_nodes < 10 * num_topics:
        raise ConfigError(f"data.num_nodes must be at least {10 * num_topics} for {num_topics} topics")
    if words_per_node < 1 or num_words < num_topics:
        raise ConfigError("data.words_per_node must be at least 1 and data.num_words at least data.num_topics")
    for key, value in (("topic_share", topic_share), ("homophily", homophily)):
        if not 0 <= value <= 1:
            raise ConfigError(f"data.{key} must be in [0, 1], not {value}")
    rng = np.random.Generator(np.random.PCG64(seed))
    topic = rng.permutation(np.arange(num_nodes) % num_topics)

    own = num_words // num_topics
    from_topic = rng.random((num_nodes, words_per_node)) < topic_share
    # Squaring a uniform draw makes a topic's first words common and its last ones rare.
    within = (rng.random((num_nodes, words_per_node)) ** 2 * own).astype(np.int64)
    anywhere = rng.integers(0, num_words, (num_nodes, words_per_node))
    words = np.where(from_topic, topic[:, None] * own + within, anywhere)
    x = np.zeros((num_nodes, num_words), dtype=np.float32)
    x[np.arange(num_nodes)[:, None], words] = 1

    source = np.repeat(np.arange(num_nodes), citations_per_node)
    target = rng.integers(0, num_nodes, len(source))
    same = rng.random(len(source)) < homophily
    by_topic = [np.flatnonzero(topic == t) for t in range(num_topics)]
    place = rng.random(len(source))
    alike = np.array([by_topic[topic[s]][int(p * len(by_topic[topic[s]]))] for s, p in zip(source, place, strict=True)])
    target = np.where(same, alike, target)
    pairs = np.unique(np.sort(np.stack([source, target])[:, source != target], axis=0), axis=1)
    edge_index = torch.from_numpy(np.concatenate([pairs, pairs[::-1]], axis=1))

    train, val, test = (torch.zeros(num_nodes, dtype=torch.bool) for _ in range(3))
    for t in range(num_topics):
        train[
            torch.from_numpy(by_topic[t][:20] if len(by_topic[t]) >= 60 else by_topic[t][: len(by_topic[t]) // 3])
        ] = True
    rest = (~train).nonzero().flatten()
    rest = rest[torch.from_numpy(rng.permutation(len(rest)))]
    val[rest[: len(rest) // 3]] = True
    test[rest[len(rest) // 3 :]] = True
    data = Data(
        x=torch.from_numpy(x),
        edge_index=edge_index,
        y=torch.from_numpy(topic),
        train_mask=train,
        val_mask=val,
        test_mask=test,
    )
    return prepare(NodeDataset.transductive("synthetic", data), features, self_loops)
