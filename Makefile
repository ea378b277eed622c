# The two commands that anybody needs: `make demo` and `make test`. Both set everything up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench samples clean help

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Last Signal needs Python 3.11 or newer, not " + sys.version.split()[0] + ": set PYTHON=…") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group test --group lint
	@touch $(READY)

demo: $(READY)  ## diagnose the shipped sample trace of a run that died
	@$(BIN)/lastsignal diagnose docs/examples/quota.jsonl || test $$? -eq 1

test: $(READY)  ## run all tests
	$(BIN)/python -m pytest

check: $(READY)  ## lint, format, types, architecture, the detectors' own tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py
	$(BIN)/lastsignal rules lint
	$(BIN)/lastsignal rules test

bench: $(READY)  ## measure diagnose against the bare decode loop, and the daemon against its bounds
	$(BIN)/python tests/bench/diagnose.py
	$(BIN)/python tests/bench/files.py
	$(BIN)/python tests/bench/watch.py
	-$(BIN)/python tests/bench/peer.py

samples: $(READY)  ## diagnose every real trace beside the checkout, one row each
	@$(BIN)/python tests/samples_table.py

clean:  ## remove what the commands above made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
