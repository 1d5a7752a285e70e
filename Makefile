# The verbs of the project. People and CI call the same ones.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
RUN    := build/run

.DEFAULT_GOAL := help
.PHONY: help run test check bench proof clean

help: ## what each verb does
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 14

# Everything is installed from the package index, once for each state of pyproject.toml.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[develop]'
	@$(BIN)/pregao doctor --compile > /dev/null
	@touch $@

run: $(READY) ## the main job: simulate a day, build its lake on Spark, show the report
	@$(BIN)/pregao run --out $(RUN)

test: $(READY) ## every test, with a short slice of each proof
	$(BIN)/python -m tests.halves

check: $(READY) ## style, types, and the direction of imports
	$(BIN)/ruff check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## measure, print the table, write build/bench.json
	$(BIN)/python -m tests.benchmarks

proof: $(READY) ## the long proofs; writes build/proof.json
	$(BIN)/python -m pytest -m long
	$(BIN)/python -m tests.proofs

clean: ## remove what was made
	rm -rf $(VENV) build .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
