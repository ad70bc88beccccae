import csv
import dataclasses

import pytest
import torch

from prism_mt.models.network import Transformer
from prism_mt.training.config import Limits
from prism_mt.training.distributed import World
from prism_mt.training.loop import Loop
from prism_mt.training.translation.config import TrainConfig, Validation
from prism_mt.training.translation.objective import TranslationObjective
from prism_mt.training.translation.quality import translation_quality

ALONE = World(0, 1, torch.device("cpu"))


@pytest.fixture
def trained(toy_config: TrainConfig) -> TranslationObjective:
    config = dataclasses.replace(
        toy_config, limits=Limits(steps=60), validation=Validation(every=30, rows=5, translations=3)
    )
    objective = TranslationObjective(config, ALONE)
    Loop(objective, config, ALONE).run()
    return objective


def greedy(objective: TranslationObjective, source: list[int], language: str) -> str:
    """Token by token without a cache: the most probable piece that may stand in a text."""
    model = objective.model
    assert isinstance(model, Transformer)
    never = [0, 1, 3, *objective.collate.tags]
    target = [2, objective.vocabulary.processor.piece_to_id(f"<{language}>")]
    with torch.no_grad():
        while len(target) - 1 < 2 * len(source) + 20:
            logits = model.project(model.eval()(torch.tensor([source]), torch.tensor([target])))[0, -1]
            logits[never] = -torch.inf
            target.append(int(logits.argmax()))
            if target[-1] == 2:
                return objective.vocabulary.decode(target[2:-1])
    return objective.vocabulary.decode(target[2:])


def test_agrees_with_plain_greedy_search_and_sacrebleu(trained: TranslationObjective) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    plans = [(name, plan) for name, plan in trained.translations if name == "de-en"]
    model = trained.model
    assert isinstance(model, Transformer)
    model.eval()
    found = translation_quality(model, plans, trained.collate_validation, trained.vocabulary, ALONE)
    outputs, references = [], []
    for _, plan in plans:
        for row in plan.rows:
            source, target = trained.collate_validation.data.pair(int(row))
            outputs.append(greedy(trained, [*map(int, source), 2], "en"))
            references.append(trained.vocabulary.decode([int(piece) for piece in target]))
    bleu = sacrebleu.corpus_bleu(outputs, [references]).score
    chrf = sacrebleu.corpus_chrf(outputs, [references]).score
    assert list(found) == ["de-en"]
    assert found["de-en"] == pytest.approx((bleu, chrf, 3))


def test_every_validation_leaves_a_row_per_direction(trained: TranslationObjective) -> None:
    with open(trained.config.output / "translations.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["step"], row["pair"], row["segments"]) for row in rows] == [
        (step, pair, count)
        for step in ("30", "60")
        for pair, count in (("de-en", "3"), ("en-de", "3"), ("en-en", "6"))
    ]
    assert all(0 <= float(row["chrf"]) <= 100 for row in rows)
