"""Work of different kinds does not wait for each other."""

import threading
import time

import pytest
from served import CAND, REF, endless, post, serve

from prism_mt.metrics.runtime import Runtime
from prism_mt.serve import app as app_module
from prism_mt.serve.app import make_app
from prism_mt.serve.scorer import ScoringThreads


def test_reports_do_not_hold_up_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are processes for scores, each of which may take minutes."""
    monkeypatch.setattr(app_module, "make_report", endless)
    scorer = ScoringThreads(Runtime(), ["made"])
    running = serve(make_app(scorer, ["made"]))
    address = next(running)
    report = {"systems": {"a": CAND, "b": CAND}, "ref": [REF], "metrics": ["chrf"]}
    told: list[int] = []
    threads = [
        threading.Thread(target=lambda: told.append(post(f"{address}/report", report)[0])) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    time.sleep(1)  # so that both are at work, or wait for a process
    assert post(f"{address}/score", {"cand": CAND, "ref": [REF], "metric": "chrf"})[0] == 200
    assert all(thread.is_alive() for thread in threads)
    scorer.close()
    for thread in threads:
        thread.join()
    assert told == [503, 503]
    running.close()
