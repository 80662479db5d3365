"""The shape of a recipe, as frozen dataclasses. Defaults live here and in the parts' constructors, nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .digest import digest_of

MASK_KEYS = ("remask", "drop_edge", "mask_edges")  # options of a method that are written in [mask], where it has one
PARTS = ("data", "method", "mask", "encoder", "decoder", "loss")


@dataclass(frozen=True)
class Part:
    """A registered part and its options: `name` plus whatever its constructor takes."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class About:
    """What a person reads first."""

    title: str = ""
    task: Literal["node", "graph", "molecule"] = "node"
    notes: str = ""


@dataclass(frozen=True)
class Train:
    """How the encoder is pre-trained."""

    epochs: int = 500
    lr: float = 1e-3
    weight_decay: float = 0.0
    optimizer: Literal["adam", "adamw"] = "adam"  # adamw: weight decay beside the gradient, not in it
    schedule: Literal["cosine", "constant"] = "cosine"
    warmup: int = 0  # epochs in which the rate rises from 0; the schedule follows
    clip_norm: float | None = None
    # Of matrix products: tf32 is float32 on the CPU; bf16 is faster on both and agrees to two or three digits; amp-bf16
    # is bf16 also for layers that are not ours (torch.nn.Linear, PyG's), by torch's autocast.
    precision: Literal["float32", "tf32", "bf16", "amp-bf16"] = "tf32"
    deterministic: bool = (
        False  # on CUDA the same bits every time, by plain kernels: slower; on the CPU it is always so
    )
    # Graphs per step, where there are several; with a sampler, nodes (of "neighbour", seeds). Of several processes, of
    # all together.
    batch_size: int = 1
    accumulate: int = 1  # batches whose gradients make one step of the optimiser, as one batch of all of them would
    checkpoint_activations: bool = False  # compute layers of the encoder again for their gradients: slower, less memory
    sync_norm: bool = True  # of several processes: batch norms look at the nodes of all, not each at its own
    # Mini-batches of a single graph. neighbour: seeds, which are masked and scored, with some of their neighbours, and
    # theirs; cluster, random: the edges among nodes near each other, or among random ones. "": the whole graph at once.
    sampler: Literal["", "neighbour", "cluster", "random"] = ""
    fanouts: tuple[int, ...] = ()  # of "neighbour": neighbours per node, hop by hop; -1: all; empty: chosen by depth
    steps: int = 0  # per epoch, with a sampler; 0: until every node had its turn
    workers: int = 0  # threads that prepare batches; 0: one fewer than there are cores, 8 at most
    parts: int = 1  # the number of pieces of a graph that is too large at once, batch_size of them per step
    tensorboard: bool = False  # write what TensorBoard shows beside the run's metrics
    patience: int = 0  # stop when the loss has not improved for this many epochs; 0: never

    def problems(self) -> list[str]:
        return [
            *_below(self.epochs, 1, "train.epochs"),
            *_below(self.batch_size, 1, "train.batch_size"),
            *_below(self.accumulate, 1, "train.accumulate"),
            *_below(self.parts, 1, "train.parts"),
            *_below(self.patience, 0, "train.patience"),
            *_below(self.steps, 0, "train.steps"),
            *_below(self.workers, 0, "train.workers"),
            *self._sampling_problems(),
            *_below(self.warmup, 0, "train.warmup"),
            *([f"train.warmup must be below train.epochs, not {self.warmup}"] if self.warmup >= self.epochs else []),
            *_below(self.weight_decay, 0, "train.weight_decay"),
            *([] if self.lr > 0 else [f"train.lr must be above 0, not {self.lr}"]),
            *(["train.clip_norm must be above 0"] if self.clip_norm is not None and self.clip_norm <= 0 else []),
        ]

    def _sampling_problems(self) -> list[str]:
        if not self.sampler:
            given = {"fanouts": self.fanouts, "steps": self.steps, "workers": self.workers}
            return [f"train.{key} is for train.sampler, which is empty" for key, value in given.items() if value]
        found = []
        if self.batch_size < 2:
            found.append(
                f"train.batch_size is the nodes of a step with train.sampler: at least 2, not {self.batch_size}"
            )
        if self.parts > 1:
            found.append("train.parts and train.sampler are two ways to cut a graph: choose one")
        if self.fanouts and self.sampler != "neighbour":
            found.append("train.fanouts are those of train.sampler = 'neighbour'")
        if wrong := [fanout for fanout in self.fanouts if fanout == 0 or fanout < -1]:
            found.append(f"train.fanouts must be at least 1, or -1 for all neighbours, not {wrong[0]}")
        return found


@dataclass(frozen=True)
class Evaluation:
    """How frozen embeddings are evaluated, and against which baselines.

    Nodes: a linear probe, scored at its last and at its best validation epoch. Whole graphs: a support vector machine
    in ten folds, scored as `readout` and `standardize` say ("folds"), and with layers, readout and scaling chosen
    inside each fold ("chosen").
    """

    lr: float = 0.01
    weight_decay: float = 1e-4
    epochs: int = 300
    batch_size: int = 0  # graphs per step of the probe, where there are several; 0: all at once
    # the score that is reported first
    rule: Literal["last", "best-validation", "converged", "folds", "chosen", "test"] = "last"
    # "all": every one that applies. Nodes: raw, averaged, propagated, netmf, netmf-propagated, untrained, supervised;
    # whole graphs: raw, untrained, wl, graph2vec.
    baselines: tuple[str, ...] = ("all",)
    supervised_lr: float = 0.005
    supervised_weight_decay: float = 5e-4
    supervised_epochs: int = 200
    readout: str = "mean"  # of whole graphs: mean, max, sum, or several with + between
    standardize: bool = False  # columns of whole graphs' embeddings, on the training folds
    # How node embeddings are read: the encoder's last layer or all side by side; then with k steps of averaging over
    # neighbours added (0: none); then rows scaled to length 1.
    layers: Literal["last", "all"] = "last"
    smooth: int = 0
    l2: bool = False
    converged: bool = True  # also score nodes with a linear model to convergence, its C chosen on validation
    choose: bool = True  # also score whole graphs with the reading chosen inside each fold
    every: int = 0  # probe after every N epochs of pre-training; 0: at the end only

    def problems(self) -> list[str]:
        return [
            *_below(self.epochs, 1, "evaluation.epochs"),
            *_below(self.batch_size, 0, "evaluation.batch_size"),
            *_below(self.supervised_epochs, 1, "evaluation.supervised_epochs"),
            *_below(self.every, 0, "evaluation.every"),
            *_below(self.smooth, 0, "evaluation.smooth"),
            *_readout_problems(self.readout, "evaluation.readout"),
            *_below(self.weight_decay, 0, "evaluation.weight_decay"),
            *_below(self.supervised_weight_decay, 0, "evaluation.supervised_weight_decay"),
            *([] if self.lr > 0 else [f"evaluation.lr must be above 0, not {self.lr}"]),
            *(
                []
                if self.supervised_lr > 0
                else [f"evaluation.supervised_lr must be above 0, not {self.supervised_lr}"]
            ),
        ]


@dataclass(frozen=True)
class Embedding:
    """What the embedding of a node is made of, beside what the encoder learns."""

    # own, one-hop, two-hop: features of the node, averaged over its neighbours, over theirs; structure: where it stands
    views: tuple[Literal["own", "one-hop", "two-hop", "structure"], ...] = ()
    width: int = 256  # of features, at most: beyond it they are reduced, for the encoder too

    def problems(self) -> list[str]:
        return _below(self.width, 1, "embedding.width")


@dataclass(frozen=True)
class Finetune:
    """How a pre-trained encoder and a head are trained on measured targets; the defaults are the published ones."""

    checkpoint: str = ""  # folder of the pre-trained model
    mode: Literal["full", "frozen", "staged"] = "full"  # all weights, the head alone, or layer after layer from the top
    epochs: int = 100  # 0: of an automatic predictor as many as the number of molecules asks for, else 100
    lr: float = 1e-3
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine", "step"] = "constant"
    batch_size: int = 32
    dropout: float = 0.5
    readout: str = "mean"
    balance: bool = False  # weigh the rarer class up; probabilities are corrected for it afterwards
    # What an automatic predictor may be made of: ("auto",) for everything that can be afforded, or names of members;
    # (): the encoder alone, fine-tuned as published.
    members: tuple[
        Literal[
            "auto", "finetuned", "frozen-linear", "frozen-boosting", "ecfp-linear", "ecfp-forest", "ecfp-kernel",
            "descriptors-boosting", "descriptors-forest", "ecfp-descriptors-forest", "ecfp-descriptors-kernel",
            "all-boosting",
        ],
        ...,
    ] = ()  # fmt: skip
    folds: int = 4  # of the training part, in which members are compared
    search: bool = True  # compare ways to fine-tune the encoder of an automatic predictor; else mode, lr, dropout hold
    level: float = 0.9  # of the intervals an automatic predictor gives for numbers
    refit: bool = False  # once the test part is scored, fit an automatic predictor to it too; that one is in OUT/final
    rule: Literal["last", "best-validation"] = "last"  # which epoch's model is kept and reported
    # "frozen": a linear model on the embeddings as they are, pre-trained and untrained
    baselines: tuple[Literal["scratch", "frozen", "ecfp-linear", "ecfp-forest"], ...] = (
        "scratch",
        "frozen",
        "ecfp-linear",
        "ecfp-forest",
    )

    def problems(self) -> list[str]:
        return [
            *_below(self.epochs, 0, "finetune.epochs"),
            *_below(self.batch_size, 2, "finetune.batch_size"),
            *_below(self.folds, 2, "finetune.folds"),
            *(["finetune.refit needs finetune.members"] if self.refit and not self.members else []),
            *([] if 0 < self.level < 1 else [f"finetune.level must be between 0 and 1, not {self.level}"]),
            *_below(self.weight_decay, 0, "finetune.weight_decay"),
            *([] if self.lr > 0 else [f"finetune.lr must be above 0, not {self.lr}"]),
            *([] if 0 <= self.dropout < 1 else [f"finetune.dropout must be in [0, 1), not {self.dropout}"]),
            *_readout_problems(self.readout, "finetune.readout"),
        ]


@dataclass(frozen=True)
class Supervised:
    """The encoder trained with labels alone, from the start: a baseline with an experiment of its own.

    Nodes: the decoder is the output layer, one channel for each class. Whole graphs: a linear head on all
    pooled layers.
    """

    epochs: int = 200
    lr: float = 0.01
    weight_decay: float = 5e-4
    batch_size: int = 32  # graphs per step, where there are many
    dropout: float = 0.5  # before the head of whole graphs
    readout: str = "sum"
    # Settings to choose from, by the validation score of each seed (nodes) or fold; each is like
    # "encoder.dropout=0.8 supervised.lr=0.01", "" the recipe itself.
    candidates: tuple[str, ...] = ("",)

    def problems(self) -> list[str]:
        return [
            *_below(self.epochs, 1, "supervised.epochs"),
            *_below(self.batch_size, 2, "supervised.batch_size"),
            *_below(self.weight_decay, 0, "supervised.weight_decay"),
            *([] if self.lr > 0 else [f"supervised.lr must be above 0, not {self.lr}"]),
            *([] if 0 <= self.dropout < 1 else [f"supervised.dropout must be in [0, 1), not {self.dropout}"]),
            *([] if self.candidates else ["supervised.candidates must have at least one entry"]),
            *_readout_problems(self.readout, "supervised.readout"),
        ]


@dataclass(frozen=True)
class Published:
    """The number the paper prints for this experiment.

    Attributes:
        settings: a digest of the settings the number is for. A recipe fills it in when it is read, and drops the number
            when a setting is changed.
    """

    mean: float
    std: float = 0.0
    metric: Literal["accuracy", "micro-f1", "roc-auc"] = "accuracy"
    seeds: int = 20
    source: str = ""
    settings: str = ""


@dataclass(frozen=True)
class Recipe:
    """One complete experiment. Make one with `graphmae.recipe("node/cora")`."""

    id: str
    data: Part
    encoder: Part
    method: Part = Part("graphmae")
    # What the method is made of, beside the encoder; None: it has no such part.
    mask: Part | None = None
    decoder: Part | None = None
    loss: Part | None = None
    about: About = About()
    train: Train = Train()
    embedding: Embedding = Embedding()
    evaluation: Evaluation = Evaluation()
    finetune: Finetune | None = None
    supervised: Supervised | None = None
    published: Published | None = None

    def __post_init__(self) -> None:
        """A published number stays only with the settings it was published for."""
        if self.published is not None:
            settings = digest_of(self)
            keeps = self.published.settings in ("", settings)
            object.__setattr__(self, "published", replace(self.published, settings=settings) if keeps else None)

    def override(self, *assignments: str) -> Recipe:
        """A changed copy: `recipe.override("mask.rate=0.75", "encoder.name=gcn")`.

        Keys and types are checked here, the parts' own limits (a mask rate of 1.5) before anything runs.
        """
        from .loader import apply_overrides, parse

        return parse(apply_overrides(self.to_dict(), assignments), self.id)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as nested plain values, in the layout of the TOML file."""
        from dataclasses import asdict

        out: dict[str, Any] = {"about": asdict(self.about)}
        for section in PARTS:
            if (part := getattr(self, section)) is not None:
                out[section] = {"name": part.name, **part.options}
        if self.mask is not None:
            out["mask"] |= {key: out["method"].pop(key) for key in MASK_KEYS if key in out["method"]}
        out["train"] = {**asdict(self.train), "fanouts": list(self.train.fanouts)}
        out["embedding"] = {**asdict(self.embedding), "views": list(self.embedding.views)}
        out["evaluation"] = {**asdict(self.evaluation), "baselines": list(self.evaluation.baselines)}
        if self.finetune is not None:
            lists = {key: list(getattr(self.finetune, key)) for key in ("baselines", "members")}
            out["finetune"] = {**asdict(self.finetune), **lists}
        if self.supervised is not None:
            out["supervised"] = {**asdict(self.supervised), "candidates": list(self.supervised.candidates)}
        if self.published is not None:
            out["published"] = asdict(self.published)
        return out


def _below(value: float, least: float, key: str) -> list[str]:
    return [f"{key} must be at least {least}, not {value}"] if value < least else []


def _readout_problems(readout: str, key: str) -> list[str]:
    return [
        f"{key}: unknown part {part!r}. Allowed: mean, max, sum, or several with + between"
        for part in readout.split("+")
        if part not in ("mean", "max", "sum")
    ]
