"""BLEU and chrF of greedy translations of held-out pairs, per direction."""

from collections import defaultdict
from collections.abc import Iterable

from prism_mt.generate.base import Symbols
from prism_mt.generate.beam import beam_search
from prism_mt.generate.incremental import Decoding
from prism_mt.generate.options import SearchConfig
from prism_mt.metrics.score import score
from prism_mt.models.network import Transformer
from prism_mt.text.subwords import Vocabulary
from prism_mt.training.distributed import World
from prism_mt.training.translation.batches import Batch, Collator
from prism_mt.training.translation.stream import Plan

Qualities = dict[str, tuple[float, float, int]]
"""BLEU, chrF and number of segments by direction."""


def translation_quality(
    model: Transformer, plans: Iterable[tuple[str, Plan]], collate: Collator, vocabulary: Vocabulary, world: World
) -> Qualities:
    """Translate the pairs of some plans; every process takes its share of the directions."""
    by_direction: dict[str, list[Plan]] = defaultdict(list)
    for name, plan in plans:
        by_direction[name].append(plan)
    names = sorted(by_direction)
    figures = [0.0] * (2 * len(names))
    for place in range(world.rank, len(names), world.size):
        batches = [collate(plan).to(world.device) for plan in by_direction[names[place]]]
        outputs, references = _translate(model, batches, vocabulary, collate)
        scores = score(outputs, ref=references, lang=names[place].split("-")[1], metrics=["bleu", "chrf"])
        figures[2 * place : 2 * place + 2] = [float(one.system_scores[0]) for one in scores.values()]
    shared = world.sums(figures)
    counts = {name: sum(len(plan.rows) for plan in by_direction[name]) for name in names}
    return {name: (shared[2 * i], shared[2 * i + 1], counts[name]) for i, name in enumerate(names)}


def _translate(
    model: Transformer, batches: list[Batch], vocabulary: Vocabulary, collate: Collator
) -> tuple[list[str], list[str]]:
    """Hypotheses and references."""
    special = collate.conventions
    symbols = Symbols(special.eos, [special.bos, special.pad, special.unknown, *collate.tags])
    greedy = SearchConfig(beam=1)
    outputs: list[str] = []
    references: list[str] = []
    for batch in batches:
        limits = (2 * (batch.source != special.pad).sum(1) + 20).tolist()
        decoding = Decoding(model, batch.source, batch.source_padding)
        found = beam_search(decoding, batch.target_input[:, :2], limits, symbols, greedy)
        outputs += [vocabulary.decode(best[0].pieces) for best in found]
        end = {special.eos, special.pad}
        wanted = [[piece for piece in row if piece not in end] for row in batch.target_input[:, 2:].tolist()]
        references += [vocabulary.decode(pieces) for pieces in wanted]
    return outputs, references
