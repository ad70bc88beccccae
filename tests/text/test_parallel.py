"""Warnings about parallel text."""

import pytest

from prism_mt.text.parallel import _say_that_check_is_off, parallel_text, warn_about

TEXT = parallel_text(["Das ist ein Haus."], ref=["Das ist ein Haus."])


def test_without_the_detector_it_is_said_once_that_the_check_is_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("prism_mt.text.parallel.can_detect", lambda: False)
    _say_that_check_is_off.cache_clear()
    for _ in range(3):
        warn_about(TEXT, "de")
    assert caplog.text.count("the language check is off") == 1
    assert "pip install 'prism-mt[lid]'" in caplog.text


def test_nothing_is_said_where_the_check_is_not_wanted_or_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _say_that_check_is_off.cache_clear()
    monkeypatch.setattr("prism_mt.text.parallel.can_detect", lambda: False)
    warn_about(TEXT, "de", check_language=False)
    warn_about(TEXT, "")
    monkeypatch.setattr("prism_mt.text.parallel.can_detect", lambda: True)
    warn_about(TEXT, "de")
    assert caplog.text == ""
