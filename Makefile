# Every target sets up what it needs: a virtual environment in .venv, versions from constraints.txt.
PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
CLIENT := clients/js/node_modules
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --disable-pip-version-check --quiet

.PHONY: demo test test-slow test-spark check bench papers docs dist dist-test clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	@echo "== incrowd demo: the RAND health survey, planned, randomized, estimated"
	@rm -rf demo/reports
	@$(BIN)/incrowd demo --output demo
	@echo "== open demo/report.html in a browser"

test: $(VENV)/.dev $(CLIENT)/.installed
	@echo "== tests of the client in TypeScript"
	@$(BIN)/python -m tests.oracles.node test
	@echo "== tests"
	@$(BIN)/python -m pytest -n 2 -m "not slow and not spark"

test-slow: $(VENV)/.dev
	@echo "== long statistical tests"
	@$(BIN)/python -m pytest -n 2 -m "slow and not spark"

test-spark: $(VENV)/.spark
	@echo "== tests on Spark, which needs Java 17"
	@$(BIN)/python -m pytest -m spark

check: $(VENV)/.dev
	@echo "== lint, format, types, import rules"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_house.py

bench: $(VENV)/.spark $(PEERS)/.installed
	@echo "== benchmarks (measured, never failing): about ten minutes; writes docs/benchmarks.md"
	@$(BIN)/python -m bench

papers: $(VENV)/.installed
	@echo "== the five papers, recomputed: half a minute"
	@$(BIN)/python -m reproduction --output papers
	@echo "== open papers/papers.html in a browser"

docs: $(VENV)/.docs
	@echo "== manual"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@$(BIN)/python -m tests.oracles.site site
	@echo "== open site/index.html"

dist: $(VENV)/.dev
	@echo "== wheel and source archive"
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build --outdir dist . > /dev/null
	@ls dist

dist-test: $(VENV)/.dev
	@echo "== wheel and source archive in clean environments: the lowest, the pinned and the newest versions"
	@$(BIN)/python -m pytest -m slow tests/test_dist.py

$(VENV)/.venv:
	@echo "== making the virtual environment $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "incrowd needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/.venv
	@echo "== installing incrowd and what it needs (a minute or two the first time)"
	@$(PIP) -e ".[collect]"
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.venv
	@echo "== installing incrowd and the tools of its tests (a minute or two the first time)"
	@$(PIP) -e ".[dev,collect]"
	@touch $@ $(VENV)/.installed

$(VENV)/.spark: pyproject.toml constraints.txt | $(VENV)/.venv
	@echo "== installing incrowd, the tools of its tests and Spark"
	@$(PIP) -e ".[dev,spark,collect]"
	@touch $@ $(VENV)/.installed $(VENV)/.dev

$(PEERS)/.installed: bench/peers.txt bench/peers-constraints.txt
	@echo "== installing other libraries into an environment of their own, to compare with"
	@$(PYTHON) -m venv $(PEERS)
	@PIP_CONSTRAINT=bench/peers-constraints.txt $(PEERS)/bin/python -m pip install \
		--disable-pip-version-check --quiet -r bench/peers.txt
	@touch $@

$(CLIENT)/.installed: clients/js/package.json tests/browser/package.json | $(VENV)/.dev
	@echo "== installing the packages of the client in TypeScript and a browser for its tests, and Node if there is none"
	@$(BIN)/python -m tests.oracles.node install
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/.venv
	@echo "== installing incrowd and the tools of its manual"
	@$(PIP) -e ".[docs,collect]"
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) $(PEERS) $(CLIENT) clients/js/lib tests/browser/node_modules demo papers site dist build \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis
