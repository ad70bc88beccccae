"""Export a learned metric from its checkpoints."""

from pathlib import Path

from prism_mt._core.errors import PrismError
from prism_mt.metrics.learned import MetricSpec, write_metric
from prism_mt.training.checkpoints import open_checkpoints
from prism_mt.training.regression.config import MetricConfig


def describe_metric(config: MetricConfig, digest: str, layers: int, width: int) -> MetricSpec:
    """Describe the metric that a run trains over an encoder with this digest and size."""
    return MetricSpec(
        config.kind,
        config.encoder,
        digest,
        config.language,
        layers,
        width,
        config.hidden,
        config.pieces,
        config.layer,
        config.side,
    )


def export_metric(config: MetricConfig) -> Path:
    """Write the metric into the run's own folder, and return the folder."""
    checkpoints = open_checkpoints(config, 0)
    newest = checkpoints.check({"kind": config.kind, "hidden": config.hidden})
    if newest is None:
        raise PrismError(f"{checkpoints.folder} has no checkpoint yet")
    weights, _ = checkpoints.exported(config.checkpoints.export)
    spec = describe_metric(config, **newest[1]["export"])
    write_metric(config.output, spec, {name: tensor.float().numpy() for name, tensor in weights.items()})
    return config.output
