# The verbs of the project. People and CI call the same ones.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
RUN    := build/run

.DEFAULT_GOAL := help
.PHONY: help run test check bench proof screenshots lock clean

help: ## what each verb does
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

# Everything is installed from the package index, once for each state of these two files: pyproject.toml has the ranges
# that a user may have, requirements.lock the exact versions that are tested, also of what builds the package and
# pyspark, which comes as source: the setuptools of an old venv cannot make its wheel.
INSTALL := -m pip install --quiet --disable-pip-version-check
$(READY): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) --constraint requirements.lock hatchling editables setuptools
	$(BIN)/python $(INSTALL) --constraint requirements.lock --no-build-isolation --editable '.[all,develop]'
	@$(BIN)/pregao doctor --compile > /dev/null
	@touch $@

run: $(READY) ## the main job: simulate a day, build its lake on Spark, show the report
	@$(BIN)/pregao run --out $(RUN)

test: $(READY) ## every test, with a short slice of each proof
	$(BIN)/python -m tests.halves

check: $(READY) ## style, types, and the direction of imports
	$(BIN)/ruff check src tests examples
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## measure, print the table, write build/bench.json
	$(BIN)/python -m tests.benchmarks

proof: $(READY) ## the long proofs; writes build/proof.json
	$(BIN)/python -m pytest -m long
	$(BIN)/python -m tests.proofs

screenshots: run ## draw the pictures of the README again, from the report of `make run`
	$(BIN)/python docs/screenshots.py $(RUN)/report.html docs/images

lock: ## take the newest versions that pyproject.toml allows; writes requirements.lock
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python $(INSTALL) '.[all,develop]'
	{ echo '# Made by `make lock`: the exact versions that `make` and CI install. Names and versions only.'; \
	  build/lock/bin/python -m pip freeze --all --exclude pip --exclude pregao; } > build/requirements.lock
	mv build/requirements.lock requirements.lock

clean: ## remove what was made
	rm -rf $(VENV) build .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
