# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A worker for each core and one more (tests/conftest.py says why), and no more than eight: each has the whole of
# the imports in its memory, and beyond that the longest tests decide. Idle workers take over what waits at a busy
# one; until then neighbours in a file stay together, and share its fixtures. WORKERS=0 runs everything in one
# process.
WORKERS ?= auto
# Byte code is made when a module is first read, since most that is installed never is; and it is kept, as machine
# code is: else every worker, and every process that a test starts, would compile every module anew.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
KEEPING := PYTHONDONTWRITEBYTECODE=
PYTEST := $(KEEPING) $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal

.PHONY: install demo test whole check lint slow transcripts power bench quality reproduce docs pictures release lowest clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	touch $(VENV)/.runtime $(VENV)/.figures $@

$(VENV)/.figures: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[figures]'
	touch $(VENV)/.runtime $@

install: $(VENV)/.dev  ## runtime and developer tools in .venv

demo: $(VENV)/.runtime  ## the main job between two processes, on data that Accord makes
	$(KEEPING) $(BIN)/accord demo

test: $(VENV)/.dev  ## the fast tests
	$(PYTEST)

# Where they are: reading all tests takes longer than some of these (tests/conftest.py sees that none is elsewhere).
WHOLE := tests/benchmarks/test_compare.py tests/cli/test_demo.py tests/docs tests/report/test_pages.py \
    tests/test_browser.py tests/test_face.py
# Two processes: beside the fast tests there is no room for more, and the longest of these decides.
whole: $(VENV)/.dev  ## things as users meet them: the site and pages in a browser, docs as typed
	$(PYTEST) -n 2 -m "whole and not slow" $(WHOLE)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m release size

check: lint test whole  ## what every landing passes

slow: $(VENV)/.dev  ## what is too long for every landing: slow tests, and properties with many more examples
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile thorough

transcripts: $(VENV)/.dev  ## the recorded sessions of commands, anew; review the diff
	$(KEEPING) $(BIN)/python -m pytest tests/cli/test_transcripts.py --record

power: $(VENV)/.dev  ## what the tests notice: small faults in fifteen modules, in tests/power.csv; takes an hour
	$(KEEPING) $(BIN)/python -m tests.power cover
	$(KEEPING) $(BIN)/python -m tests.power run

# SPU has wheels for one Python and some machines; where there is none, the benchmark says so and goes on.
.venv-peers/.done: benchmarks/peers.txt benchmarks/peers-spu.txt
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers.txt
	-.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -r benchmarks/peers-spu.txt
	touch $@

bench: $(VENV)/.dev .venv-peers/.done  ## speed against peers, side by side in one run
	$(BIN)/python -m benchmarks

quality: $(VENV)/.figures .venv-peers/.done  ## precision, recall and F1 beside peers, in evaluation/results
	$(BIN)/python -m reproduction quality

SEED ?= 0
reproduce: $(VENV)/.figures  ## the paper's evaluation, in evaluation/; QUICK=--quick for a small one, SEED=1 for another
	$(BIN)/python -m reproduction all $(QUICK) --seed $(SEED)

docs: $(VENV)/.dev  ## the documentation as a site: build/docs/index.html; a warning is an error
	$(BIN)/python -m handbook build build/docs

pictures: $(VENV)/.dev  ## every drawing of README and docs, from text; the demo's screen from a run
	$(BIN)/python -m handbook pictures

release: $(VENV)/.dev  ## sdist, wheel, bill of materials, the image's wheels by digest and checksums of the last commit, in dist/
	rm -rf dist
	$(BIN)/python -m release build dist

# With the oldest Python and the lowest versions of all that Accord needs; tests of extras find these at their newest,
# and what needs a browser, a cluster or the site is left to `make test`. Lines of help break elsewhere with an older
# typer; and what Pythons there are is a question to the newest numba.
lowest: $(VENV)/.dev  ## the fast tests with the lowest versions that pyproject.toml allows
	rm -rf .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	$(BIN)/python -m release lowest > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	    -c .venv-lowest/constraints.txt -r release/lowest-tests.txt -e .
	$(KEEPING) .venv-lowest/bin/python -m pytest -n $(WORKERS) -W ignore::DeprecationWarning -k 'not tidy and not newest_python' \
	    --ignore tests/docs --ignore tests/reproduction

clean:
	rm -rf $(VENV) .venv-peers .venv-lowest
