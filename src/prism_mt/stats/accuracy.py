"""Pairwise accuracy: does a metric order two outputs, or two systems, as humans do?"""

import numpy as np

from prism_mt.stats.arrays import Matrix, Vector, pair_signs


def segment_accuracy(human: Matrix, metric: Matrix) -> float:
    """Share of output pairs of a segment, not tied by humans, that the metric orders correctly; its ties are wrong."""
    sign_h, sign_m, _ = pair_signs(human, metric)
    judged = np.count_nonzero(sign_h)
    return float(np.count_nonzero(sign_h * sign_m > 0) / judged) if judged else float("nan")


def pairwise_agreement(human: Vector, metric: Vector) -> tuple[int, int]:
    """Count the system pairs that metric and humans order alike, and all pairs; a tie is right only if both tie.

    Counts rather than a share, because the shared tasks pool the system pairs of all language pairs.
    """
    sign_h, sign_m, known = pair_signs(human[:, None], metric[:, None])
    return int(np.count_nonzero((sign_h == sign_m) & known)), int(known.sum())


def pairwise_accuracy(human: Vector, metric: Vector) -> float:
    """Share of system pairs on which metric and humans agree; NaN for fewer than two systems."""
    agreed, pairs = pairwise_agreement(human, metric)
    return agreed / pairs if pairs else float("nan")
