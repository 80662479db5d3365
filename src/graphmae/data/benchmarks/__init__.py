"""The published data sets by name, each read from its raw files; importing a module registers its sets."""

from . import graphs, moleculenet, ogb, planetoid, ppi, rdkit_sets, reddit, synthetic, zinc

__all__ = ["graphs", "moleculenet", "ogb", "planetoid", "ppi", "rdkit_sets", "reddit", "synthetic", "zinc"]
