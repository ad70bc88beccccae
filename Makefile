# Everything runs in .venv; `make test` is what continuous integration runs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test lint format clean

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,hf,lid,encoders,plots]' -r requirements-dev.txt
	touch $@

install: .venv/installed  ## virtual environment with everything for development

test: install lint
	$(BIN)/python -m pytest

lint: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: install
	$(BIN)/python examples/demo.py

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
