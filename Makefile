# One place for every named task. `make help` lists them; .ci/run calls `make test` and nothing else.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# What `make reproduce` runs; tags and why take half an hour more, flagship and ablation 40 minutes (NETWORK=none: words alone).
STUDIES ?= figure2 figure3 figure4

# A stamp records that an install finished: an interrupted one leaves no stamp and is done again.
INSTALLED       := $(VENV)/.installed
INSTALLED_BENCH := $(VENV)/.installed-bench
INSTALLED_DOCS  := $(VENV)/.installed-docs
INSTALL         := $(BIN)/python -m pip install --quiet -c constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test lint bench reproduce docs clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## make .venv with tagmix, its network and its test tools, pinned by constraints.txt

demo: setup ## draw an album, learn from it, tag the rest; it ends by saying where its page is
	$(BIN)/tagmix demo

lint: setup ## check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint ## everything that must pass before a commit: lint, tests, doctests
	$(BIN)/pytest -n 2

bench: $(INSTALLED_BENCH) ## measure speed beside the peers (installs the bench extra)
	$(BIN)/python -m benchmarks

reproduce: setup ## the paper's experiments on data (TAGMIX_DATA=folder) and on drawn scenes, about an hour
	$(BIN)/tagmix reproduce $(STUDIES) $(if $(NETWORK),--network $(NETWORK))

docs: $(INSTALLED_DOCS) ## build the pages into docs/_build/html, warnings are errors
	$(BIN)/sphinx-build -W -b html docs docs/_build/html

clean: ## remove caches and outputs; .venv stays (delete it by hand to start afresh)
	rm -rf build dist docs/_build docs/reference/generated demo-out bench-out reproduce-out evaluate-out .coverage
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "tagmix needs Python 3.11 or newer, '$(PYTHON)' is $$($(PYTHON) -V 2>/dev/null || echo missing):" \
	    "name another, for example make PYTHON=python3.12 setup" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(INSTALL) -e '.[network,test]'
	@touch $@
	@echo "The command is $(BIN)/tagmix; after '. $(BIN)/activate' it is just tagmix."

$(INSTALLED_BENCH): $(INSTALLED)
	$(INSTALL) -e '.[network,test,bench]'
	@touch $@

$(INSTALLED_DOCS): $(INSTALLED)
	$(INSTALL) -e '.[network,test,docs]'
	@touch $@
