# On a fresh machine: `make demo` and `make test` set everything up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo-installed
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
SIZE = @echo "$(VENV): $$($(PIP) list --format=freeze | wc -l) packages, $$(du -sm $(VENV) | cut -f1) MB"
export PYTHONPATH := $(CURDIR)
SEEDS ?= 25
JOBS ?= 2

.PHONY: help setup demo test test-fast browser lint format paper-quick paper bench-cec2006-active bench-repair bench-overhead bench-surrogate bench-calls bench-peers bench-import bench-runtime bench-random-models bench-sampling bench-claims bench-greybox bench-discrete bench-flowsheet bench-noise bench-dimension bench-bbob-constrained bench-parallel bench-data bench-fidelity bench-hard clean

help:  ## show this list
	@grep -E '^[a-z0-9-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 24

$(DEMO): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "archeng needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip
	$(PIP) install --quiet --editable '.[plot]'
	$(SIZE)
	touch $(DEMO)

$(STAMP): $(DEMO)
	$(PIP) install --quiet --editable '.[dev]'
	$(SIZE)
	touch $(STAMP)

setup: $(STAMP)  ## make the virtual environment in .venv, with everything for tests and benchmarks

demo: $(DEMO)  ## design a welded beam: progress, a table, a figure in out/ (installs only what that needs)
	$(BIN)/python -m case_studies.welded_beam --figure out/welded_beam.png

lint: setup  ## ruff, mypy (strict), import layers
	$(BIN)/ruff check archeng case_studies templates tests
	$(BIN)/ruff format --check archeng case_studies templates tests
	$(BIN)/mypy
	$(BIN)/ruff check docs/site .ci && $(BIN)/ruff format --check docs/site .ci
	$(BIN)/lint-imports

browser:  # the tests of report and dashboard open them in a real browser
	@{ command -v chromium && command -v chromedriver; } > /dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get > /dev/null && apt-get -qq update && \
	apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends -y chromium chromium-driver > /dev/null; } || \
	{ echo "The tests need Chromium and its driver: as root, apt-get install chromium chromium-driver"; exit 1; }

test: lint browser  ## lint and all tests
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-fast: setup  ## the faster tests, for daily work: under three minutes on two cores
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m 'not slow'

format: setup  ## reformat the code
	$(BIN)/ruff check --fix archeng case_studies templates tests
	$(BIN)/ruff format archeng case_studies templates tests

.PHONY: docs
docs: setup  ## build the documentation into out/docs: warnings are errors, links are checked
	$(BIN)/python docs/site/tables.py
	rm -rf out/docs
	$(BIN)/python -m sphinx -E -W --keep-going -q -d out/doctrees -c docs/site . out/docs
	$(BIN)/python docs/site/check_links.py out/docs

paper-quick: setup  ## a small slice of every experiment of the paper (under 10 minutes), into out/paper-quick
	$(BIN)/python -m case_studies.paper all --quick --jobs $(JOBS) --out out/paper-quick

paper: setup  ## every experiment of the paper in full (hours; goes on where it stopped), into out/paper
	$(BIN)/python -m case_studies.paper all --jobs $(JOBS) --out out/paper

bench-cec2006-active: setup  ## calls to target on g01-g11 (and g16) in the paper's setting
	$(BIN)/python -m case_studies.paper active-set --runs $(SEEDS) --jobs $(JOBS)

bench-repair: setup  ## repair success and time, ladder against IPOPT alone
	$(BIN)/python -m case_studies.benchmarks.repair

bench-overhead: setup  ## overhead per simulator call, and where it goes
	$(BIN)/python -m case_studies.benchmarks.overhead

bench-surrogate: setup  ## overhead per simulator call with the surrogate, and where it goes
	$(BIN)/python -m case_studies.benchmarks.surrogate

bench-calls: setup  ## calls to target with the surrogate beside published figures (an hour), into out/surrogate
	$(BIN)/python -m case_studies.surrogate all --jobs $(JOBS) --out out/surrogate

bench-peers: setup  ## calls to target beside other packages (hours; goes on where it stopped), into out/peers
	$(PIP) install --quiet --editable '.[bench]'
	$(BIN)/python -m case_studies.peers --jobs $(JOBS) --out out/peers

bench-import: setup  ## import time of Pyomo models and .nl files against their size
	$(BIN)/python -m case_studies.benchmarks.importing

bench-runtime: setup  ## workers, journal, memory and resume after 100,000 calls
	$(BIN)/python -m case_studies.benchmarks.runtime

bench-random-models: setup  ## random models with a planted design, every call judged by a referee (20 minutes)
	$(BIN)/python -m case_studies.random_models --jobs $(JOBS) --record

bench-claims: setup  ## claims of convergence judged by IPOPT on the formulas (an hour; goes on where it stopped), into docs/benchmarks/claims
	$(BIN)/python -m case_studies.claims claims --jobs $(JOBS) --out docs/benchmarks/claims

bench-fidelity: setup  ## cost to a target with a cheap and a dear simulator (minutes; goes on where it stopped), into docs/benchmarks/fidelity
	$(BIN)/python -m case_studies.fidelity --out docs/benchmarks/fidelity

bench-hard: setup  ## problems on which archeng was beaten, missed the optimum or was slow (hours; goes on where it stopped), into docs/benchmarks/hard
	$(PIP) install --quiet --editable '.[bench]'
	$(BIN)/python -m case_studies.hard --jobs $(JOBS) --out docs/benchmarks/hard

bench-greybox: setup  ## calls with formulas of outputs, as a black box and of other packages (hours; goes on where it stopped), into docs/benchmarks/greybox
	$(PIP) install --quiet --editable '.[bench]'
	$(BIN)/python -m case_studies.greybox --jobs $(JOBS) --out docs/benchmarks/greybox
	$(BIN)/python -m case_studies.greybox --held-out --jobs $(JOBS) --out docs/benchmarks/greybox
	$(BIN)/python -m case_studies.greybox sweep --out docs/benchmarks/greybox

bench-discrete: setup  ## calls with integers, lists and categories, and of other packages; repairs beside Bonmin and SCIP (hours; goes on where it stopped), into docs/benchmarks/discrete
	$(PIP) install --quiet --editable '.[bench]'
	$(BIN)/python -m case_studies.discrete --jobs $(JOBS) --out docs/benchmarks/discrete
	$(BIN)/python -m case_studies.discrete --held-out --jobs $(JOBS) --out docs/benchmarks/discrete
	$(BIN)/python -m case_studies.discrete repair --out docs/benchmarks/discrete
	$(BIN)/python -m case_studies.discrete claims --seeds 3 --out docs/benchmarks/discrete

bench-data: setup  ## calls with and without earlier data, and of sweeps that learn (an hour; goes on where it stopped), into docs/benchmarks/data
	$(BIN)/python -m case_studies.data all --jobs 1 --out docs/benchmarks/data

bench-flowsheet: setup  ## models with many equalities: calls, set-up time and overhead, judged by Pyomo (an hour; goes on where it stopped), into docs/benchmarks/flowsheet
	$(BIN)/python -m case_studies.flowsheet --jobs 1 --out docs/benchmarks/flowsheet
	$(BIN)/python -m case_studies.flowsheet --held-out --jobs 1 --out docs/benchmarks/flowsheet

bench-parallel: setup  ## time and calls to a target at widths 1 to 64, and by the clock with threads and Dask (half an hour; goes on where it stopped), into docs/benchmarks/parallel
	$(BIN)/python -m case_studies.parallel all --jobs 1 --out docs/benchmarks/parallel

bench-dimension: setup  ## 20 to 1000 variables: calls, time per call and per repair, beside other packages (40 minutes; goes on where it stopped), into docs/benchmarks/dimension
	$(PIP) install --quiet --editable '.[bench]'
	$(BIN)/python -m case_studies.dimension all --jobs 1 --out docs/benchmarks/dimension

bench-noise: setup  ## true value of the returned design under noise, beside other packages (hours; goes on where it stopped), into docs/benchmarks/noise
	$(PIP) install --quiet --editable '.[bench]'
	$(BIN)/python -m case_studies.noise --jobs $(JOBS) --out docs/benchmarks/noise

bench-bbob-constrained: setup  ## COCO's suite bbob-constrained with 30 n calls, beside other packages (hours; goes on where it stopped), into docs/benchmarks/bbob_constrained
	$(PIP) install --quiet --editable '.[bench]'
	$(BIN)/python -m case_studies.bbob_constrained --jobs $(JOBS)

bench-sampling: setup  ## how evenly feasible sets are sampled, and how fast
	$(BIN)/python -m case_studies.benchmarks.sampling

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
