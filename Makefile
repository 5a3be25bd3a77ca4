# tablewatch: `make demo` and `make test` do all the set-up on a machine with make and Python >= 3.11.
PYTHON ?= python3
VENV   ?= .venv
EXTRAS ?= apprise,disclosure,gx,mcp,oidc,oncall,postgres,web
BIN    := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
KILLS  ?= 300
INPUTS ?= 20000
READY  := $(VENV)/.ready
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder
TIER   ?= all
SINCE  ?= main
ZENSICAL := 0.0.73

.PHONY: help demo setup test affected test-all search soak check bench docs audit release dist image site clean

help:  ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(RUNTIME): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "tablewatch needs Python 3.11 or newer; install it, or name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "this Python has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	@echo 'installing the runtime (0.9 GB of packages) into $(VENV), once'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[disclosure,web]'
	@touch $(RUNTIME)

$(READY): $(RUNTIME)
	@echo 'installing what tests need ($(EXTRAS), pytest, mypy, ruff and others) into $(VENV), once'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]' --group dev
	@touch $(READY)

setup: $(READY)  ## Make .venv and install everything

demo: $(RUNTIME)  ## Build a small shop with planted faults, replay six weeks of checks, write the report
	$(BIN)/tablewatch demo --dir tablewatch-demo --force

test: $(READY)  ## Run the quick tests: every capability, in about five minutes
	$(BIN)/python -m pytest $(PARALLEL) --tier quick

affected: $(READY)  ## Run the quick tests that a change reaches: SINCE=main (minutes; what it cannot know, `make test` does)
	$(BIN)/python -m pytest $(PARALLEL) --tier quick $$($(BIN)/python -m tests.affected --since $(SINCE))

test-all: $(READY)  ## Run all tests (an hour); with TIER=change, of slow functions some of their cases only
	$(BIN)/python -m pytest $(PARALLEL) --tier $(TIER)

search: $(READY)  ## Look for counterexamples: every property with ten times its examples, other ones each time (an hour)
	$(BIN)/python -m pytest $(PARALLEL) --tier search --timeout 3600

soak: $(READY)  ## Kill the daemon KILLS=300 times, type INPUTS=20000 hostile inputs, and count (hours; needs strace)
	$(BIN)/python -m tests.soak --kills $(KILLS) --inputs $(INPUTS)

check: $(READY)  ## Lint, imports, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

bench: $(READY)  ## Run the benchmarks that the documentation names (hours), or those with ONLY=word, and write their tables there
	$(BIN)/python -m benchmarks --pages $(ONLY)

docs: $(READY)  ## Refresh the generated parts of the documentation
	$(BIN)/python -m docs.refresh

audit: $(READY)  ## Count words, code blocks and links of the documentation, and say what is wrong with it
	$(BIN)/python -m docs.audit

release: $(READY)  ## Show what a release VERSION= would be; with COMMIT=yes make it: changes, version, tag, wheel, sdist
	$(BIN)/python -m release $(VERSION) $(if $(COMMIT),--commit)

dist: $(READY)  ## Build and check the release VERSION= that this checkout is, into dist/
	$(BIN)/python -m release $(VERSION) --tagged

site: $(READY)  ## Build the site of the documentation into build/docs/site; it asks no other server for anything
	$(BIN)/python -m docs.site build/docs
	@test -x $(VENV)/site/bin/zensical || { $(PYTHON) -m venv $(VENV)/site && $(VENV)/site/bin/python -m pip install --quiet zensical==$(ZENSICAL); }
	$(VENV)/site/bin/zensical build --strict --config-file build/docs/mkdocs.yml
	$(BIN)/python -m docs.site build/docs --verify

image:  ## Build the container's image; without docker, its layers in build/image
	sh examples/daemon/image.sh

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
