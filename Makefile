# Everything runs in .venv; `make test` is what continuous integration runs.
PYTHON ?= python3
BIN := .venv/bin

# Workers of pytest; each has temporary folders and a cache of its own.
WORKERS ?= 2

.PHONY: install browser demo docs test unit test-pythons hostile lint format clean

.venv/installed: pyproject.toml constraints.txt requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,hf,lid,encoders,plots,ray,serve,docs]' -r requirements-dev.txt
	touch $@

install: .venv/installed  ## virtual environment with everything for development

# The tests of the page need a browser; elsewhere than as root on Debian they are skipped unless there is one.
browser:
	command -v chromium >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq; apt-get install -y -qq chromium >/dev/null; } || echo "no Chromium: its tests are skipped"

# mypy has one process and reads everything anew in a fresh checkout: the tests need not wait for it.
test: install browser
	$(MAKE) --jobs 2 lint unit

unit: install
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --durations 20

# Damaged files of every format, and long commands killed at random; the tests have a slice of both.
hostile: install
	PYTHONPATH=tests $(BIN)/python -m hostile.run --cases 15000
	PYTHONPATH=tests $(BIN)/python -m hostile.kill --kills 1000
	PYTHONPATH=tests $(BIN)/python -m hostile.serve_load --minutes 10

# The core, without torch, on every Python from 3.10 on that this machine has.
test-pythons:
	$(PYTHON) tests/pythons.py

lint: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

demo: install
	$(BIN)/python examples/demo.py

docs: install  ## the site, in build/site
	$(BIN)/python tools/make_reference.py
	$(BIN)/zensical build --strict

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
