# Every target sets up what it needs, in a virtual environment in .venv with the versions from constraints.txt.
PYTHON ?= python3
VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
CLIENT := clients/js/node_modules
ACCOUNTANT := packages/accountant
# Most modules that are installed are never imported: Python compiles the others when they are.
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --no-compile --disable-pip-version-check --quiet
# Both distributions of this repository: no index is asked for the one that the other depends on.
INSTALL := $(PIP) -e $(ACCOUNTANT) -e
PROJECTS := pyproject.toml $(ACCOUNTANT)/pyproject.toml constraints.txt

.PHONY: demo test test-slow test-spark check bench papers docs dist dist-test release-check lock clean
.DELETE_ON_ERROR:
# Tests start many processes: without bytecode on disk each of them would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
# Two workers on two cores: threads of the linear algebra would only wait for each other.
test test-slow: export OPENBLAS_NUM_THREADS = 1
test: export TESTS_BUDGET = 1
# Tests with random examples are in both: a sixteenth of their examples here, all of them there.
test-slow: export LONG_TESTS = 1

demo: $(VENV)/.installed
	@echo "== incrowd demo: the RAND health survey, planned, randomized, and estimated"
	@rm -rf demo/reports
	@$(BIN)/incrowd demo --output demo
	@echo "== open demo/report.html in a browser"

test: $(VENV)/.dev $(CLIENT)/.installed
	@echo "== tests of the TypeScript client"
	@$(BIN)/python -m tests.oracles.node test
	@echo "== tests"
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow and not spark"

test-slow: $(VENV)/.dev
	@echo "== long statistical tests"
	@$(BIN)/python -m pytest -n 2 -m "(slow or hypothesis) and not spark"

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
	@echo "== benchmarks (a missed target is not an error): a quarter of an hour; writes docs/benchmarks.md"
	@$(BIN)/python -m bench

papers: $(VENV)/.installed
	@echo "== recomputing the five papers: half a minute"
	@$(BIN)/python -m reproduction --output papers
	@echo "== open papers/papers.html in a browser"

docs: $(VENV)/.docs
	@echo "== building the manual"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@$(BIN)/python -m tests.oracles.site site
	@echo "== open site/index.html"

dist: $(VENV)/.dev
	@echo "== building the wheels and source archives of incrowd and incrowd-accountant"
	@$(BIN)/python -m releasing.distributions dist
	@ls dist

dist-test: $(VENV)/.dev
	@echo "== testing the wheel and source archive in clean environments: lowest, pinned, and newest versions"
	@$(BIN)/python -m pytest -m slow tests/test_dist.py

release-check: $(VENV)/.releasing
	@echo "== checking everything that can be checked before a release: a quarter of an hour"
	@$(BIN)/python -m releasing

lock: $(VENV)/.releasing
	@echo "== locking the packages of the container images, with the hashes of their files"
	@$(BIN)/python -m releasing.lock
	@git diff --stat -- deploy/requirements.txt

$(VENV)/.venv:
	@echo "== creating the virtual environment $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "incrowd needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(PROJECTS) | $(VENV)/.venv
	@echo "== installing incrowd and its dependencies (a minute or two the first time)"
	@$(INSTALL) ".[studio]"
	@touch $@

$(VENV)/.dev: $(PROJECTS) | $(VENV)/.venv
	@echo "== installing incrowd and its test tools (a minute or two the first time)"
	@$(INSTALL) ".[dev,proved,studio]"
	@touch $@ $(VENV)/.installed

$(VENV)/.spark: $(PROJECTS) | $(VENV)/.venv
	@echo "== installing incrowd, its test tools, and Spark"
	@$(INSTALL) ".[dev,proved,spark,studio]"
	@touch $@ $(VENV)/.installed $(VENV)/.dev

$(VENV)/.releasing: releasing/requirements.txt constraints.txt | $(VENV)/.dev
	@echo "== installing the tools that check a release"
	@$(PIP) -r releasing/requirements.txt
	@touch $@

$(PEERS)/.installed: bench/peers.txt bench/peers-constraints.txt
	@echo "== installing other libraries for comparison, in a separate environment"
	@$(PYTHON) -m venv $(PEERS)
	@PIP_CONSTRAINT=bench/peers-constraints.txt $(PEERS)/bin/python -m pip install \
		--disable-pip-version-check --quiet -r bench/peers.txt
	@touch $@

$(CLIENT)/.installed: clients/js/package.json tests/browser/package.json | $(VENV)/.dev
	@echo "== installing the packages of the TypeScript client, a browser for its tests, and Node if it is missing"
	@$(BIN)/python -m tests.oracles.node install
	@touch $@

$(VENV)/.docs: $(PROJECTS) | $(VENV)/.venv
	@echo "== installing incrowd and the tools that build its manual"
	@$(INSTALL) ".[docs,collect]"
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) $(PEERS) $(CLIENT) clients/js/lib tests/browser/node_modules demo papers site dist build $(ACCOUNTANT)/build \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis
