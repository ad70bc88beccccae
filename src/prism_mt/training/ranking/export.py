"""Export a fine-tuned model from its checkpoints."""

import csv
import dataclasses
import logging
from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.models.directory import ModelDirectory, write_model
from prism_mt.models.model import Model
from prism_mt.models.network import to_weights
from prism_mt.models.resolve import open_model
from prism_mt.training.checkpoints import open_checkpoints
from prism_mt.training.ranking.adapters import merge_adapters
from prism_mt.training.ranking.config import FinetuneConfig
from prism_mt.training.ranking.network import adapted_network, load_trained, origin

_LOG = logging.getLogger("prism_mt")


def export_finetuned(config: FinetuneConfig) -> Path:
    """Write the best or the last model of a run with its adapters merged, and return its folder."""
    checkpoints = open_checkpoints(config, config.validation.every)
    base = open_model(config.model)
    newest = checkpoints.check(origin(base, config))
    if newest is None:
        raise PrismError(f"{checkpoints.folder} has no checkpoint yet")
    trained, made = checkpoints.exported(config.checkpoints.export)
    state = newest[1]
    if config.checkpoints.export == "best":
        made = f"{made}, after {state['progress']['best_step']:,} updates"
        if state["progress"]["best_step"] == 0:
            _LOG.warning("no validation improved on the initial model, so it is exported unchanged")
    network = adapted_network(base, config)
    load_trained(network, trained)
    merge_adapters(network)
    # The digest of the original files identifies the original model, which this no longer is.
    spec = dataclasses.replace(base.spec, name=config.name, origin_digest="")
    folder = config.output / "model"
    card = _card(config, base, made)
    judged = base.judged.union(state["export"]["judged"])
    write_model(Model(spec, to_weights(network), base.source, base.target, card, judged), folder)
    return folder


def _card(config: FinetuneConfig, base: ModelDirectory, made: str) -> str:
    """The model card: how it was made, and the validation history from the initial model on."""
    with open(config.output / "valid.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    lines = [
        f"| {row['step']} | {row['pair']} | {float(row['accuracy']):.4f} | {float(row['tau']):.4f} "
        f"| {float(row['probability']):.4f} | {row['pairs']} |"
        for row in rows
    ]
    ranking = config.ranking
    directions = [name for name in ("forward", "backward") if getattr(ranking, name)]
    adapters = f"rank {config.adapters.rank}, merged" if config.adapters.rank else "none, all weights"
    return "\n".join(
        [
            f"# {config.name}",
            "",
            f"{base.spec.name or 'A model'} (digest {base.digest[:12]}), fine-tuned on human judgments with "
            "`prism finetune`.",
            "",
            f"- Ranking: {' and '.join(directions) or 'none'} on {ranking.scores}, margin {ranking.margin:g}",
            f"- Weights of other terms: cross-entropy {ranking.cross_entropy:g}, better outputs {ranking.preferred:g}, "
            f"pairs across segments {ranking.across:g}",
            f"- Adapters: {adapters}",
            f"- Learning rate {config.optimizer.learning_rate:g}, seed {config.seed}",
            f"- Weights: {made}",
            "",
            "On held-out pairs; step 0 is the initial model:",
            "",
            "| step | pair | ranking accuracy | tau | mean probability | pairs |",
            "|---|---|---|---|---|---|",
            *lines,
            "",
        ]
    )
