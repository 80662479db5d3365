"""Methods side by side: the same data, encoder, width, number of trials on validation, probe and seeds for all."""

from __future__ import annotations

import logging
import multiprocessing
import statistics
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import torch

from .. import config, evaluation, kernels, methods, pretrained
from .. import data as datasets
from ..config import Recipe
from ..data import Dataset
from ..data.edge_data import EDGE_KEYS
from ..data.splits import with_split
from ..evaluation import Evaluator
from ..inference.embedding import embed_graph, pair_scorer, propagated
from ..methods import Method
from ..registry import import_parts, imported_digests
from ..reporting.contest import Contest, Line
from ..runtime.device import numerics, resolve_device
from ..runtime.environment import commit, hardware, versions
from ..runtime.errors import DataError, GraphMAEError, InputError, unknown
from ..runtime.files import locked, write_json
from ..runtime.memory import peak_memory
from ..runtime.seed import check_seeds, preserved_randomness
from ..runtime.untrusted import read_object
from ..training import quiet
from ..training.progress import Display
from . import pretrain as pretraining
from .memory import check_memory
from .trials import trial_settings

logger = logging.getLogger("graphmae")
TRIAL_SEED = 1_000  # settings are chosen with another seed than those reported
EPOCHS_FOR_MEMORY = 3
FAILURES = (GraphMAEError, torch.OutOfMemoryError)
SETTINGS = "settings.json"  # of a comparison, in its folder
LINK_SHARE = 0.1  # of the edges, held out
Work = Sequence[tuple[str, str, Callable[[], Line]]]
READ_AS: dict[str, dict[str, Any]] = {"all-layers": {"layers": "all"}, "l2": {"l2": True}, "smooth": {"smooth": 10}}


def compare(
    dataset: Dataset,
    base: Recipe,
    names: Sequence[str] = (),
    *,
    seeds: Iterable[int] = (0,),
    budget: int = 4,
    links: bool = True,
    own: bool = True,
    imports: Sequence[str] = (),
    overrides: Sequence[str] = (),
    device: str | torch.device = "auto",
    root: str | Path | None = None,
    out: Path | None = None,
    display: Display = quiet,
) -> Contest:
    """Every method of `names` (none: all that fit the data) with the encoder of `base`, then with its own recipe.

    For each, `budget` settings are tried and the one best on validation is run with `seeds`. Of nodes, test labels take
    no part in that; of whole graphs, validation is the inner folds, which between them hold every graph. A method that
    works with one encoder alone (MVGRL) has that, as wide and deep. Without labels there is nothing to choose by, and
    links alone are scored. `overrides`, which `base` has already, hold for every method. What `out` already holds of
    the same comparison is not run again.
    """
    used, numbers = resolve_device(device), check_seeds(seeds)
    if budget < 1:
        raise InputError(f"budget must be at least 1, not {budget}")
    dataset = with_split(dataset)
    names = list(names) or [name for name in methods.names() if methods.learns_from(name, dataset.task)]
    for name in names:
        if name not in methods.names():
            raise InputError(unknown("method", name, methods.names()))
        if not methods.learns_from(name, dataset.task):
            raise InputError(f"{name} is not for {dataset.name}: it learns from {methods.kinds_of_data(name)}")
    check_memory(dataset, base, used)
    arena = _Arena(dataset, base, numbers, used, display, imports, overrides)
    if links and arena.has_links and (reason := arena.no_links()):
        logger.warning("links are left out: %s", reason)
        links = False
    if not arena.is_labelled and not (links and arena.has_links):
        raise InputError(f"{dataset.name} has neither labels nor a single graph whose links could be predicted")
    work: list[tuple[str, str, Callable[[], Line]]] = []  # name, group, what makes the line
    if arena.is_labelled:
        work += [(name, "baseline", partial(arena.baseline, name, links)) for name in arena.baselines()]
    if links and arena.has_links:
        work.append((arena.simple_score, "baseline", arena.neighbours))
    work += [(name, "same", partial(arena.method, name, budget, links)) for name in names]
    if own and arena.is_labelled:
        known = {name: recipe for name in names if (recipe := own_recipe(name, base.data.name))}
        work += [(name, "own", partial(arena.own, name, recipe, root)) for name, recipe in known.items()]
    facts = {"recipe": base.to_dict(), "seeds": numbers, "budget": budget, "links": links, "data": fingerprint(dataset)}
    if code := imported_digests():
        facts["code"] = code
    lines = _finished(work, facts, out)
    metric = dataset.metric if arena.is_labelled else "roc-auc"
    made = Contest(dataset.name, metric, numbers, lines, hardware(str(used)), versions(), commit())
    if out is not None:
        made.save(out)
    return made


def fingerprint(dataset: Any) -> str:
    """A data set's name and a checksum of its features, edges and labels."""
    total = 0
    for graph in dataset.pretrain_graphs() or dataset.graph_sets():
        of_edges = [getattr(graph, key, None) for key in EDGE_KEYS]
        for part in (graph.x, graph.edge_index, getattr(graph, "y", None), *of_edges):
            total = total if part is None else zlib.crc32(part.contiguous().numpy().tobytes(), total)
    return f"{dataset.name} {total:08x}"


def own_recipe(name: str, data: str) -> str:
    """The recipe of a method for a benchmark set; "" where there is none."""
    wanted = [f"{name}/{data}"] if name != "graphmae" else [f"node/{data}", f"graph/{data}"]
    return next((recipe for recipe in wanted if recipe in config.names()), "")


class _Arena:
    """What all methods share."""

    def __init__(
        self,
        dataset: Any,
        base: Recipe,
        seeds: Sequence[int],
        device: torch.device,
        display: Display,
        imports: Sequence[str],
        overrides: Sequence[str] = (),
    ) -> None:
        self.overrides = list(overrides)
        self.dataset, self.seeds, self.device, self.display = dataset, seeds, device, display
        self.imports, self._of_method = list(imports), cache(self._with_method)
        self.has_links = len(dataset.pretrain_graphs()) == 1
        self.is_labelled = _has_labels(dataset)
        self.base = replace(base, evaluation=replace(base.evaluation, baselines=()))
        self.evaluator = evaluation.evaluator_for(dataset, self.base.evaluation, device) if self.is_labelled else None

    def baselines(self) -> list[str]:
        return [name for name in evaluation.BASELINES[self.dataset.task] if name != "supervised"]

    def no_links(self) -> str:
        """Why edges cannot be held out; "" where they can."""
        try:
            self._split(self.seeds[0])
        except DataError as error:
            return str(error)
        return ""

    @cached_property
    def simple_score(self) -> str:
        """How many neighbours two nodes share, the rarer the more; in a graph with two sides, paths of three edges."""
        return "adamic-adar" if self._split(self.seeds[0]).sides is None else "rarer-paths-of-three"

    def neighbours(self) -> Line:
        """What the edges alone say, which needs no embedding."""
        rows = [evaluation.simple_rows(split)[self.simple_score] for split in map(self._split, self.seeds)]
        return Line(self.simple_score, "baseline", {"links": [row["roc-auc"] for row in rows]})

    def baseline(self, name: str, links: bool) -> Line:
        """A row without training: raw features, averaged ones, the same encoder untrained, Weisfeiler and Lehman."""
        assert self.evaluator is not None
        make = partial(_fresh, self._recipe("graphmae", []), self.dataset)
        with numerics(self.device):
            rows = evaluation.BASELINES[self.dataset.task][name](self.evaluator, make, self.seeds)
            scores = _columns([row.scores for row in rows], self.evaluator)
            if links and self.has_links:
                scores["links"] = [self._links_without_training(name, make, seed) for seed in self.seeds]
        return Line(name, "baseline", scores)

    def _links_without_training(self, name: str, make: Callable[[], torch.nn.Module], seed: int) -> float:
        split = self._split(seed)
        rows = split.graph.x
        if name in ("averaged", "propagated"):
            rows = propagated(rows, kernels.edges_of(split.graph), 1 if name == "averaged" else 2)
        elif name in ("netmf", "netmf-propagated"):
            rows = evaluation.walks_of(split.graph, with_features=name != "netmf")
        elif name == "untrained":
            seen = self.dataset.with_graph(split.graph)
            with preserved_randomness(seed):
                rows = embed_graph(evaluation.settled(make(), seen, self.device), split.graph, self.device)
        return evaluation.link_scores(rows, split)["roc-auc"]

    def _split(self, seed: int) -> evaluation.EdgeSplit:
        split = evaluation.split_edges(self.dataset.single_graph(), LINK_SHARE, seed)
        return replace(split, graph=self.dataset.with_graph(split.graph).single_graph())

    def method(self, name: str, budget: int, links: bool) -> Line:
        """A method with the encoder all have."""
        settings, trials = list[str](), list[dict[str, Any]]()
        if self.is_labelled and budget > 1:
            settings, trials = self._chosen(name, budget)
        recipe = self._recipe(name, settings)
        line = self._scored(name, "same", recipe, self.dataset, self.evaluator)
        if links and self.has_links:
            line.scores["links"] = self._links(recipe)
        return replace(line, settings=settings, trials=trials)

    def own(self, name: str, recipe: str, root: str | Path | None) -> Line:
        """A method with the encoder and the settings it was published with."""
        made = config.load(recipe)
        dataset = datasets.load(made.data.name, root, **made.data.options)
        evaluator = evaluation.evaluator_for(dataset, replace(made.evaluation, baselines=()), self.device)
        return replace(self._scored(name, "own", made, dataset, evaluator), settings=[recipe])

    def _chosen(self, name: str, budget: int) -> tuple[list[str], list[dict[str, Any]]]:
        """The settings that are best on validation, and all that were tried."""
        assert self.evaluator is not None
        quick, trials = self.evaluator.quick(), list[dict[str, Any]]()
        for settings in trial_settings(name, self._recipe(name, []), budget):
            began, score = time.monotonic(), None
            try:
                model = self._pretrain(self._recipe(name, settings), self.dataset, TRIAL_SEED, f"{name}, a trial")
                fresh = partial(pretrained.fresh_encoder, model)
                score = _validation(quick.rows(model.reader, fresh, [self.seeds[0]])[0]["pretrained"].scores)
            except FAILURES as error:
                logger.info("%s with %s failed: %s", name, " ".join(settings) or "its defaults", error)
            trials.append({"settings": settings, "score": score, "seconds": time.monotonic() - began})
            if score is not None:
                logger.info("%s: %s gives %.1f on validation", name, " ".join(settings) or "defaults", score)
        good = [trial for trial in trials if trial["score"] is not None]
        if not good:
            raise GraphMAEError(f"none of {len(trials)} settings could be trained; see the messages above")
        best = max(good, key=lambda trial: trial["score"])  # the first among equals
        return best["settings"], trials

    def _scored(self, name: str, group: str, recipe: Recipe, dataset: Any, evaluator: Evaluator | None) -> Line:
        found, seconds = [], []
        for seed in self.seeds:
            began = time.monotonic()
            model = self._pretrain(recipe, dataset, seed, f"{name}, seed {seed}")
            seconds.append(time.monotonic() - began)
            if evaluator is not None:
                found.append(self._read(evaluator, model, seed))
        scores = _columns(found, evaluator) if evaluator is not None else {}
        return Line(name, group, scores, statistics.fmean(seconds), self._memory(recipe, dataset))

    def _memory(self, recipe: Recipe, dataset: Dataset) -> int:
        """What a few epochs take at most; on the CPU in a process of its own, which holds nothing of earlier work."""
        few = replace(recipe, train=replace(recipe.train, epochs=EPOCHS_FOR_MEMORY, warmup=0, patience=0))
        if self.device.type == "cuda":
            return _peak_of(few, dataset, str(self.device))
        task = few, dataset, str(self.device), self.imports
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return int(pool.apply(_peak_alone, task))

    def _read(self, evaluator: Evaluator, model: Method, seed: int) -> dict[str, float]:
        """Scores of an encoder, and of the same read in other ways."""
        with numerics(self.device):
            scores = dict(evaluator.score(model.reader, [seed])[0].scores)
            if self.dataset.task == "node":
                for key, change in READ_AS.items():
                    plain = replace(evaluator.settings, layers="last", smooth=0, l2=False, converged=False)
                    other = type(evaluator)(evaluator.dataset, replace(plain, **change), self.device)
                    scores[key] = other.score(model.reader, [seed])[0].scores[evaluator.settings.rule]
        return scores

    def _links(self, recipe: Recipe) -> list[float]:
        """ROC-AUC of held-out edges, one pre-training without them per seed."""
        found = []
        for seed in self.seeds:
            split = self._split(seed)
            seen = self.dataset.with_graph(split.graph)
            model = self._pretrain(recipe, seen, seed, f"{recipe.method.name}, links, seed {seed}")
            with numerics(self.device), torch.no_grad():
                rows = embed_graph(model.reader, split.graph, self.device)
                own = pair_scorer(model.cpu(), embed_graph(model.encoder, model.as_seen(split.graph), self.device))
                scores = evaluation.link_scores(rows, split, own=own)
                found.append(scores["roc-auc"])
        return found

    def _recipe(self, name: str, settings: Sequence[str]) -> Recipe:
        made = self._of_method(name).override(*settings)
        methods.check(made)
        return made

    def _with_method(self, name: str) -> Recipe:
        needs = getattr(methods.REGISTRY.get(name), "needs_encoder", "")
        parts = methods.REGISTRY.takes(name) & {"mask", "loss", "decoder"}
        # A setting of the user holds for every method. A setting of the recipe gives way to a method's own parts.
        part_settings = [text for text in self.overrides if text.partition(".")[0] in parts]
        return self.base.override(*([f"encoder.name={needs}"] if needs else []), f"method.name={name}", *part_settings)

    def _pretrain(self, recipe: Recipe, dataset: Dataset, seed: int, label: str) -> Method:
        return pretraining.pretrain_once(recipe, dataset, seed, self.device, display=self.display, label=label)


def _finished(work: Work, facts: dict[str, Any], out: Path | None) -> list[Line]:
    """The lines, each written when it is finished; one that is there already is read."""
    if out is None:
        return [_tried(name, group, make) for name, group, make in work]
    lines = []
    with locked(out):
        if (known := out / SETTINGS).is_file() and read_object(known) != facts:
            raise InputError(f"{out} holds another comparison; name a new folder with --out")
        write_json(known, facts)
        for name, group, make in work:
            path = out / f"{group}-{name}.json"
            if not path.is_file():
                line = _tried(name, group, make)
                if line.problem:
                    lines.append(line)
                    continue
                write_json(path, asdict(line))
            lines.append(Line(**read_object(path)))
    return lines


def _tried(name: str, group: str, make: Callable[[], Line]) -> Line:
    """A method that cannot be trained on this data does not end the comparison; the table says why."""
    try:
        return make()
    except FAILURES as error:
        logger.warning("%s: %s", name, error)
        return Line(name, group, problem=str(error))


def _peak_alone(recipe: Recipe, dataset: Dataset, device: str, imports: list[str]) -> int:
    import_parts(imports)
    return _peak_of(recipe, dataset, device)


def _peak_of(recipe: Recipe, dataset: Dataset, device: str) -> int:
    with peak_memory(device) as peak:
        pretraining.pretrain_once(recipe, dataset, TRIAL_SEED, torch.device(device))
    return peak.bytes


def _columns(found: Sequence[dict[str, float]], evaluator: Evaluator) -> dict[str, list[float]]:
    """Scores by column of the table, one per seed."""
    keys = {"score": evaluator.settings.rule, **{key: key for key in ("nmi", "ari", "knn", "converged", *READ_AS)}}
    return {
        column: [scores[key] for scores in found] for column, key in keys.items() if all(key in one for one in found)
    }


def _validation(scores: dict[str, float]) -> float:
    return scores["validation-last"] if "validation-last" in scores else scores["inner"]


def _fresh(recipe: Recipe, dataset: Dataset) -> torch.nn.Module:
    return pretrained.fresh_encoder(pretraining.build(recipe, dataset))


def _has_labels(dataset: Any) -> bool:
    if dataset.task == "node":
        return bool(dataset.splits)
    return getattr(dataset, "y", None) is not None
