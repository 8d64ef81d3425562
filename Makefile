# Commands for developers. Every target sets up its own environment, once, and again when pyproject.toml changes.

.DEFAULT_GOAL := help
.PHONY: demo quick core figures test test-system explore fuzz fuzz-compiled mutants lint ruff mypy pyright test-real test-rest environment environment-newest interop conformance conformance-check codegen-check bench bench-check docs test-all test-newest test-compiled test-asan wheel-compiled dist clean help
SHELL := bash
# Tests and commands start many interpreters; compiling the modules again in each costs more than everything else.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest
# Spark's tests come first, since they wait a lot.
WORKERS ?= 2
# ROWS=N takes N rows of a test in place of 16.
PYTEST_ARGS ?= -q -n $(WORKERS) --dist loadscope --no-loadscope-reorder -p no:randomly $(if $(ROWS),--rows=$(ROWS))
# SHARE=K/N takes each N-th row of a test, from K on, of the tests of the system, those with other programs, and what `make test` leaves out.
SHARE ?=
SHARING := $(if $(SHARE),--share=$(SHARE))
# The system's tests run in another order each time; the seed is printed, and SEED=N repeats one.
SYSTEM_ARGS ?= -q -n 3 --dist loadscope --no-loadscope-reorder --randomly-dont-reset-seed $(if $(SEED),--randomly-seed=$(SEED))
PYTHONS ?= 3.11 3.12 3.13 3.14
# The tests that `make test-newest` runs: all of the default suite that needs no Spark; NEWEST names some of them.
NEWEST ?= tests
# A commit: `make quick SINCE=main` takes what changed on the branch.
SINCE ?= HEAD
# The tests that `make core` runs: those of whoever works on a codec, a model or an end.
CORE ?= tests/core tests/sasl tests/classic tests/amqp_0_10 tests/amqp_1_0 tests/observer
# The tests that `make test-compiled` runs with the module in C.
COMPILED_TESTS ?= tests/core tests/classic tests/amqp_1_0 tests/observer tests/tables tests/system/core/test_compiled.py
EXPLORE_S ?= 300
FUZZ_S ?= 300
FUZZ_SEED ?= 1
MUTANTS ?= 70
MUTANTS_SEED ?= 1
RULE_OUTCOMES ?= build/rule-outcomes.json

demo: $(VENV)/.stamp  ## The main job from start to end: recorded traffic to tables in Spark
	@$(VENV)/bin/amqp-sansio demo

quick: $(VENV)/.stamp  ## The tests nearest to what changed since SINCE, in half a minute
	@$(PY) -m tools.quick --since $(SINCE)

core: .venv-core/.stamp  ## The tests of the protocol cores (CORE), in an environment without Java and Spark
	.venv-core/bin/python -m pytest $(PYTEST_ARGS) -m "not spark" $(CORE)

figures: $(VENV)/.stamp  ## The figures that may only fall
	@$(PY) -m tools.figures

test: $(VENV)/.stamp  ## The test suite: pure, in virtual time; it needs no machine
	$(PYTEST) $(PYTEST_ARGS) --rule-outcomes=$(RULE_OUTCOMES) --costs=build/costs.json

test-system:  ## The tests of sockets, threads, processes and Spark at large, and exhaustive ones
	@$(MAKE) --no-print-directory test-real
	@$(MAKE) --no-print-directory test-rest

test-real: $(VENV)/.stamp
	$(PYTEST) $(SYSTEM_ARGS) $(SHARING) $(SYSTEM_EXTRA) tests/system

test-rest: $(VENV)/.stamp
	$(PYTEST) $(PYTEST_ARGS) $(SHARING) --full-examples

explore: $(VENV)/.stamp  ## Property and state machine tests with new seeds and more examples, for EXPLORE_S seconds
	$(PY) -m tools.explore --seconds $(EXPLORE_S) $(if $(EXPLORE_SEED),--seed $(EXPLORE_SEED))

fuzz: $(VENV)/.stamp  ## Damaged and hostile octets for every part that reads them, from FUZZ_SEED, for FUZZ_S seconds
	$(PY) -m tools.fuzz --seconds $(FUZZ_S) --seed $(FUZZ_SEED) $(if $(FUZZ_CASES),--cases $(FUZZ_CASES)) $(FUZZ_ARGS)

fuzz-compiled: $(VENV)/.stamp  ## The same with the optional module in C
	$(PY) -m tools.compiled build/fuzzed
	PYTHONPATH=build/fuzzed:. $(PY) -P -m tools.fuzz --compiled --seconds $(FUZZ_S) --seed $(FUZZ_SEED) $(if $(FUZZ_CASES),--cases $(FUZZ_CASES)) $(FUZZ_ARGS)

mutants: $(VENV)/.stamp  ## Changes the models and clients in MUTANTS places of MUTANTS_SEED, one by one, and writes docs/mutants.md: what no test notices
	$(PY) -m tools.mutants --count $(MUTANTS) --seed $(MUTANTS_SEED) --json build/mutants.json --write docs

lint: ruff  ## ruff, mypy --strict, pyright strict
	@$(PY) -m mypy & $(PY) -m pyright --pythonpath $(PY); status=$$?; wait $$! && exit $$status

ruff: $(VENV)/.stamp-dev
	$(PY) -m ruff check --output-format=concise .
	$(PY) -m ruff format --check --quiet .

mypy: $(VENV)/.stamp-dev
	$(PY) -m mypy

pyright: $(VENV)/.stamp-dev
	$(PY) -m pyright --pythonpath $(PY)

interop: $(VENV)/.stamp-dev  ## Tests against RabbitMQ, Qpid Broker-J, proton, rhea, pyamqp and Qpid's JMS client, started and stopped by the tests
	$(PYTEST) -q -n 3 --dist loadscope --no-loadscope-reorder -p no:randomly $(SHARING) $(INTEROP_EXTRA) tests/interop

conformance: $(VENV)/.stamp  ## Runs the test suite and writes docs/conformance.md and docs/conformance.json
	@status=0; \
	$(PYTEST) $(PYTEST_ARGS) --rule-outcomes=$(RULE_OUTCOMES) || status=$$?; \
	$(PY) -m tools.conformance --outcomes $(RULE_OUTCOMES) --write docs && exit $$status

conformance-check: $(VENV)/.stamp  ## Compares docs/conformance.* with the last run of the test suite
	$(PY) -m tools.conformance --outcomes $(RULE_OUTCOMES) --check docs

codegen-check: $(VENV)/.stamp  ## Compares generated code with the generator's output
	$(PY) -m tools.codegen --check

bench: .venv-bench/.stamp  ## Compares speed with other libraries
	.venv-bench/bin/python benchmarks/run.py

bench-check: .venv-bench/.stamp  ## Compares the ratios with the committed ones; BENCH selects parts
	.venv-bench/bin/python benchmarks/run.py --check $(BENCH)

docs: .venv-docs/.stamp $(VENV)/.stamp  ## The documentation as a site, in build/site; warnings are errors, and so is a public name that it lacks
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet
	$(PY) -m tools.docs.reference --site build/site

# Spark's tests run with the interpreter of `make test` only: its releases support few.
test-all:  ## The tests but for Spark's, with each Python from 3.11 to 3.14 that is there; PYTHONS names others
	@for version in $(PYTHONS); do \
	  python=$$(command -v python$$version) && "$$python" -c '' 2>/dev/null || { echo "python$$version isn't there"; continue; }; \
	  PYTHON=$$python tools/dev/venv.sh .venv-$$version .venv-$$version/.stamp --group test && \
	  .venv-$$version/bin/python -m pytest $(PYTEST_ARGS) -m "not spark" || exit 1; \
	done

test-newest: environment-newest  ## The tests but for Spark's, with the newest Python that is there, if `make test` has an older one
	@[[ ! -e .venv-newest/.stamp ]] || .venv-newest/bin/python -m pytest $(PYTEST_ARGS) -m "not spark" $(NEWEST)

environment-newest:
	@tools/dev/newest.sh >/dev/null || { echo "there is no newer Python than $$(python3 --version)"; exit 0; }; \
	$(MAKE) --no-print-directory .venv-newest/.stamp

test-compiled: $(VENV)/.stamp  ## The tests of what the optional module in C stands in for, with it: COMPILED_TESTS names others
	$(PY) -m tools.compiled -- $(PYTEST_ARGS) $(COMPILED_TESTS)

test-asan: $(VENV)/.stamp  ## The tests of the module in C itself, watched by the sanitizers of addresses and undefined behaviour
	$(PY) -m tools.compiled --sanitize build/sanitized -- -q -p no:randomly tests/core/test_compiled.py

wheel-compiled: $(VENV)/.stamp  ## A wheel with the module in C, for this system and Python, in build/compiled-wheel
	rm -rf build/compiled-wheel
	AMQP_SANSIO_COMPILE=1 $(PY) -m hatchling build -t wheel -d build/compiled-wheel
	@! ls build/compiled-wheel/*-none-any.whl 2>/dev/null || { echo "it could not be compiled" >&2; exit 1; }

dist: $(VENV)/.stamp  ## sdist and wheel in build/dist, checked, and used in clean environments; the tests of the sdist, or SDIST_TESTS of them
	WORKERS="$(WORKERS)" SDIST_TESTS="$(SDIST_TESTS)" tools/dev/release.sh $(PY) build/dist

clean:  ## Removes all output of make and the tools
	rm -rf $(VENV) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "make %-18s %s\n", $$1, $$2}'

$(VENV)/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh $(VENV) $@ --java --spark --group test
	@$(collect)

# Compiles all test modules once; otherwise each process of the first run does. `make test` says what is wrong.
collect = $(PYTEST) -q --collect-only -p no:randomly >$(VENV)/collected.log 2>&1 || true

# For continuous integration: what is installed for `make test` and then for `make lint`, at once, without the collecting.
environment:
	@tools/dev/venv.sh $(VENV) $(VENV)/.stamp --java --spark --group dev
	@touch $(VENV)/.stamp-dev

$(VENV)/.stamp-dev: pyproject.toml tools/dev/venv.sh $(VENV)/.stamp
	@tools/dev/venv.sh $(VENV) $@ --java --spark --group dev

.venv-core/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh .venv-core $@ --group test

.venv-newest/.stamp: pyproject.toml tools/dev/venv.sh
	@PYTHON=$$(tools/dev/newest.sh) tools/dev/venv.sh .venv-newest $@ --group test

.venv-bench/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh .venv-bench $@ --java --spark --group peers

.venv-docs/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh .venv-docs $@ --group docs
