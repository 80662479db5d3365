"""Steps 1 and 3: which nodes are hidden, which edges the encoder does not see, and what the decoder gets instead."""

from .edges import drop_edges, masked_edges, summed, thinned, with_edges
from .nodes import REGISTRY, MaskedNodes, NodeMask, RandomNodeMask
from .remask import REMASKS, Remask, RemaskKind

register, build, names = REGISTRY.register, REGISTRY.build, REGISTRY.names

__all__ = [
    "REGISTRY",
    "REMASKS",
    "MaskedNodes",
    "NodeMask",
    "RandomNodeMask",
    "Remask",
    "RemaskKind",
    "build",
    "drop_edges",
    "masked_edges",
    "names",
    "register",
    "summed",
    "thinned",
    "with_edges",
]
