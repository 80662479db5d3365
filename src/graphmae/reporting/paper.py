"""What the tables and figures of the paper need: which recipes, changed how, over how many seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TABLES = ("node", "graph", "molecule", "ablation", "method")
NODE_SETS = {
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "ogbn-arxiv": "ogbn-arxiv",
    "ppi": "PPI",
    "reddit": "Reddit",
}
GRAPH_SETS = {
    "imdb-binary": "IMDB-BINARY",
    "imdb-multi": "IMDB-MULTI",
    "proteins": "PROTEINS",
    "collab": "COLLAB",
    "mutag": "MUTAG",
    "reddit-binary": "REDDIT-BINARY",
    "nci1": "NCI1",
}
MOLECULE_SETS = {
    "bbbp": "BBBP",
    "tox21": "Tox21",
    "toxcast": "ToxCast",
    "sider": "SIDER",
    "clintox": "ClinTox",
    "muv": "MUV",
    "hiv": "HIV",
    "bace": "BACE",
}
MASK_RATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
GAMMAS = (1, 2, 3, 4, 5, 6, 7, 8)
ABLATION_SETS = {"cora": "node", "pubmed": "node", "mutag": "graph", "imdb-binary": "graph"}
ABLATIONS = {
    "no-mask": "no masking",
    "no-remask": "no re-masking",
    "mse": "MSE instead of the scaled cosine error",
    "decoder-mlp": "decoder MLP",
    "decoder-gcn": "decoder GCN",
    "decoder-gin": "decoder GIN",
    "decoder-gat": "decoder GAT",
    "encoder-gcn": "encoder GCN",
    "keep": "10 % of the masked nodes left unchanged",
    "substitute": "10 % of the masked nodes substituted",
    "token": "no masked node substituted",
    "learnable-remask": "learnable [DMASK]",
}
NODES_ONLY = ("encoder-gcn",)
# The published weight decay was chosen for the full method; with other losses, decoders or mask rates it can pull every
# weight to zero. These are also run without it, and validation chooses. (The graph recipes have none.)
NO_DECAY = "-no-decay"
MAY_DROP_DECAY = (
    "full", "no-mask", "no-remask", "mse", "decoder-mlp", "decoder-gcn", "decoder-gin", "encoder-gcn",
    *(f"rate-{rate}" for rate in MASK_RATES if rate > 0.5),
)  # fmt: skip
# Which ablations a set's own recipe already is.
SAME_AS_FULL = {
    "cora": ("decoder-gat",),
    "pubmed": ("decoder-gat", "token"),
    "mutag": ("decoder-gin", "substitute"),
    "imdb-binary": ("decoder-gin", "token"),
}
# Other methods with recipes, and what independent runs of their public code give on Cora, CiteSeer and PubMed.
NODE_METHODS: dict[str, tuple[str, tuple[str, str, str]]] = {
    "dgi": ("DGI", ("81.6–82.3", "69.4–71.8", "76.1–76.8")),
    "ggd": ("GGD", ("83.1", "73.0", "80.3")),
    "mvgrl": ("MVGRL", ("83.2–83.6", "72.6–73.7", "79.8–80.1")),
    "grace": ("GRACE", ("81.9–82.5", "69.7–71.4", "80.2–81.1")),
    "bgrl": ("BGRL", ("81.2–82.7", "71.1–71.4", "79.1–79.6")),
    "cca-ssg": ("CCA-SSG", ("83.8–84.0", "72.7–73.1", "80.4–81.0")),
    "gae": ("GAE, 16 wide", ("71.5", "65.8", "72.1")),
    "gae-wide": ("GAE, 512 wide", ("–", "–", "–")),
    "vgae": ("VGAE, 16 wide", ("76.3", "66.8", "75.8")),
    "maskgae": ("MaskGAE", ("84.1–84.3, one seed", "73.5–73.8, one seed", "83.5, one seed")),
    "graphmae2": ("GraphMAE2", ("83.9–84.5", "73.3–73.4", "81.4–81.5")),
    "graphmae2-smooth": ("GraphMAE2, averaged over 3 hops", ("–", "–", "–")),
    "joint": ("GraphMAE + edges", ("–", "–", "–")),
}
METHOD_SETS = ("cora", "citeseer", "pubmed")
GRAPH_METHODS = {"infograph": "InfoGraph", "graphcl": "GraphCL"}  # published with a constant where nodes have no labels
# Published with degrees there. graph2vec has no encoder: it is a row beside MVGRL's, with the same input.
DEGREE_METHOD = "mvgrl"
GRAPH2VEC = {
    "imdb-binary": (71.10, 0.54), "imdb-multi": (50.44, 0.87), "proteins": (73.30, 2.05), "mutag": (83.15, 9.25),
    "reddit-binary": (75.78, 1.03), "nci1": (73.22, 1.81),
}  # fmt: skip
WITHOUT_LABELS = ("imdb-binary", "imdb-multi", "collab", "reddit-binary")  # of nodes: a constant, or their degrees
# Methods for molecules: title, recipe, published ROC-AUC after fine-tuning on the sets below.
MOLECULE_METHODS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "infomax": ("Infomax", "molecule/zinc-infomax", ("68.8", "75.3", "62.7", "58.4", "69.9", "75.9")),
    "attr-masking": ("AttrMasking", "molecule/zinc-attr-masking", ("64.3", "76.7", "64.2", "61.0", "71.8", "79.3")),
    "context-pred": ("ContextPred", "molecule/zinc-context-pred", ("68.0", "75.7", "63.9", "60.9", "65.9", "79.6")),
    "edge-pred": ("EdgePred", "molecule/zinc-edge-pred", ("67.3", "76.0", "64.1", "60.4", "64.1", "79.9")),
    "graphcl": ("GraphCL", "molecule/zinc-graphcl", ("69.7", "73.9", "62.4", "60.5", "76.0", "75.4")),
    "neighbourhood": ("GraphMAE, neighbourhoods as targets", "molecule/zinc-neighbourhood", ("–",) * 6),
    "graphmae": ("GraphMAE", "molecule/zinc", ("72.0", "75.5", "64.1", "60.3", "82.3", "83.1")),
}
MOLECULE_METHOD_SETS = ("bbbp", "tox21", "toxcast", "sider", "clintox", "bace")
MOLECULE_METHOD_EPOCHS = 5  # of pre-training, for each alike; published 100
NODE_SEEDS, GRAPH_SEEDS, MOLECULE_SEEDS, MOLECULE_METHOD_SEEDS = 20, 5, 10, 3
MORE_SEEDS = {"mutag": 20}  # 188 graphs: five seeds cannot tell one point from none, and a seed takes a second


@dataclass(frozen=True)
class Experiment:
    """One recipe over some seeds.

    Attributes:
        table: "node", "graph", "molecule", "ablation" or "method".
        group: the data set; one file of results for each table and group.
        name: unique within its group.
        changes: `section.key=value`, as `--set` takes them.
        pretrain: the recipe of the pre-training it starts from, and changes to that; one for all that name the same.
    """

    table: str
    group: str
    name: str
    recipe: str
    seeds: int
    changes: tuple[str, ...] = ()
    pretrain: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return f"{self.table}-{self.group}.json"

    @property
    def settings(self) -> list[str]:
        """What the ledger keeps, so that a result with other settings is not taken for this one's."""
        return [*self.changes, *([f"from {' '.join(self.pretrain)}"] if self.pretrain else [])]


def _all() -> Iterator[Experiment]:
    for group in NODE_SETS:
        yield Experiment("node", group, "graphmae", f"node/{group}", NODE_SEEDS)
        if group in ("cora", "citeseer", "pubmed"):
            for kind in ("gcn", "gat"):
                yield Experiment("node", group, f"supervised-{kind}", f"supervised/{group}-{kind}", NODE_SEEDS)
    for group in GRAPH_SETS:
        seeds = MORE_SEEDS.get(group, GRAPH_SEEDS)
        yield Experiment("graph", group, "published", f"graph/{group}", seeds)
        yield Experiment("graph", group, "tuned", f"graph/{group}-tuned", seeds)
        yield Experiment("graph", group, "supervised-gin", f"supervised/{group}-gin", GRAPH_SEEDS)
    for group in MOLECULE_SETS:
        yield Experiment("molecule", group, "graphmae", f"molecule/{group}", MOLECULE_SEEDS)
    for group, task in ABLATION_SETS.items():
        yield from _ablations(group, task)
    yield from _with_and_without_decay("citeseer", "full", "node/citeseer", NODE_SEEDS, ("evaluation.baselines=[]",))
    yield from _with_and_without_decay("citeseer", "encoder-gcn", "ablation/citeseer-encoder-gcn", NODE_SEEDS, ())
    yield from _methods()


def _methods() -> Iterator[Experiment]:
    beside = ("evaluation.baselines=['propagated', 'untrained']",)
    for group in METHOD_SETS:
        for name in NODE_METHODS:
            recipe = f"gae/{group}-wide" if name == "gae-wide" else f"{name.removesuffix('-smooth')}/{group}"
            smooth = ("evaluation.smooth=3",) if name.endswith("-smooth") else ()
            yield Experiment("method", group, name, recipe, NODE_SEEDS, (*beside, *smooth))
    for group in GRAPH_SETS:
        for name in GRAPH_METHODS:
            for kind in ("", "-degree") if group in WITHOUT_LABELS else ("",):
                changes = ("evaluation.baselines=['untrained']",)
                yield Experiment("method", group, name + kind, f"{name}/{group}{kind}", GRAPH_SEEDS, changes)
        changes = ("evaluation.baselines=['untrained', 'graph2vec']",)
        yield Experiment("method", group, DEGREE_METHOD, f"{DEGREE_METHOD}/{group}", GRAPH_SEEDS, changes)
    for group in MOLECULE_METHOD_SETS:
        for name, (_, start, _) in MOLECULE_METHODS.items():
            changes, pretrain = ("finetune.baselines=['frozen']",), (start, f"train.epochs={MOLECULE_METHOD_EPOCHS}")
            yield Experiment("method", group, name, f"molecule/{group}", MOLECULE_METHOD_SEEDS, changes, pretrain)


def _ablations(group: str, task: str) -> Iterator[Experiment]:
    seeds, base = NODE_SEEDS if task == "node" else MORE_SEEDS.get(group, GRAPH_SEEDS), f"{task}/{group}"
    plain = ("evaluation.baselines=[]", *(["evaluation.choose=false"] if task == "graph" else []))
    wanted: list[tuple[str, str, tuple[str, ...]]] = [("full", base, plain)]
    for name in ABLATIONS:
        if name not in SAME_AS_FULL[group] and not (task == "graph" and name in NODES_ONLY):
            wanted.append((name, f"ablation/{group}-{name}", ()))
    wanted += [(f"rate-{rate}", base, (f"mask.rate={rate}", *plain)) for rate in MASK_RATES]
    wanted += [(f"gamma-{gamma}", base, (f"loss.gamma={gamma}", *plain)) for gamma in GAMMAS]
    for name, recipe, changes in wanted:
        if task == "node":
            yield from _with_and_without_decay(group, name, recipe, seeds, changes)
        else:
            yield Experiment("ablation", group, name, recipe, seeds, changes)


def _with_and_without_decay(
    group: str, name: str, recipe: str, seeds: int, changes: tuple[str, ...]
) -> Iterator[Experiment]:
    yield Experiment("ablation", group, name, recipe, seeds, changes)
    if name in MAY_DROP_DECAY:
        dropped = ("train.weight_decay=0.0", *changes)
        yield Experiment("ablation", group, name + NO_DECAY, recipe, seeds, dropped)


EXPERIMENTS = tuple(_all())


def experiments_of(table: str) -> list[Experiment]:
    """Those of one table, or of "all"."""
    return [experiment for experiment in EXPERIMENTS if table in ("all", experiment.table)]
