from prism_mt.corpus.shards import _Validation


def test_validation_rows_come_from_all_over_the_corpus_and_once() -> None:
    valid = _Validation(20)
    for number in range(1000):
        for _ in range(2):
            valid.offer("de-en", [[number, 1], [2]])
    valid.offer("de-fr", [[5], [6]])
    rows = list(valid.rows())
    assert [pair for pair, _ in rows] == ["de-en"] * 20 + ["de-fr"]
    numbers = {sides[0][0] for _, sides in rows[:20]}
    assert len(numbers) == 20
    # Twenty of a thousand, not the first or last twenty.
    assert min(numbers) < 200
    assert max(numbers) > 800
