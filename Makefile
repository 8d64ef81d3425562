# Commands for developers. Every target sets up its own environment, once, and again when pyproject.toml changes.

.DEFAULT_GOAL := help
.PHONY: demo test test-slow explore fuzz lint interop conformance conformance-check codegen-check bench bench-check docs test-all test-newest dist clean help
SHELL := bash
# Tests and commands start many interpreters; compiling the modules again in each costs more than everything else.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest
# One process for Spark's session, one for tests that start a Java process; these wait a lot, and so do tests of
# heartbeats: three processes keep two processors busy.
PYTEST_ARGS ?= -q -n 3 --dist loadscope
PYTHONS ?= 3.11 3.12 3.13 3.14
# In 3.13.0 an exception of a signal handler can leave a try statement that holds a loop: test_interrupts needs it inside.
NEWEST ?= tests/core tests/client tests/asyncio tests/sync tests/pytest_plugin --ignore tests/sync/test_interrupts.py
EXPLORE_S ?= 300
FUZZ_S ?= 300
FUZZ_SEED ?= 1
RULE_OUTCOMES ?= build/rule-outcomes.json

demo: $(VENV)/.stamp  ## The main job from start to end: recorded traffic to tables in Spark
	@$(VENV)/bin/amqp-sansio demo

test: $(VENV)/.stamp  ## The test suite, but for real brokers and what takes long
	$(PYTEST) $(PYTEST_ARGS) --rule-outcomes=$(RULE_OUTCOMES)

test-slow: $(VENV)/.stamp  ## The tests that take long: Spark clusters whose executors are killed, whole commands, a million rows
	$(PYTEST) -q -n 2 --dist loadscope -m "slow and not interop"

explore: $(VENV)/.stamp  ## Property and state machine tests with new seeds and more examples, for EXPLORE_S seconds
	$(PY) -m tools.explore --seconds $(EXPLORE_S) $(if $(EXPLORE_SEED),--seed $(EXPLORE_SEED))

fuzz: $(VENV)/.stamp  ## Damaged and hostile octets for every part that reads them, from FUZZ_SEED, for FUZZ_S seconds
	$(PY) -m tools.fuzz --seconds $(FUZZ_S) --seed $(FUZZ_SEED) $(if $(FUZZ_CASES),--cases $(FUZZ_CASES))

lint: $(VENV)/.stamp-dev  ## ruff, mypy --strict, pyright strict
	$(PY) -m ruff check --output-format=concise .
	$(PY) -m ruff format --check --quiet .
	@$(PY) -m mypy & $(PY) -m pyright --pythonpath $(PY); status=$$?; wait $$! && exit $$status

interop: $(VENV)/.stamp-dev  ## Tests against RabbitMQ, Qpid Broker-J, proton, rhea, pyamqp and Qpid's JMS client, started and stopped by the tests
	$(PYTEST) -q -m interop tests/interop

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

docs: .venv-docs/.stamp  ## The documentation as a site, in build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet

# Spark's tests run with the interpreter of `make test` only: its releases support few.
test-all:  ## The tests but for Spark's, with each Python from 3.11 to 3.14 that is there; PYTHONS names others
	@for version in $(PYTHONS); do \
	  python=$$(command -v python$$version) && "$$python" -c '' 2>/dev/null || { echo "python$$version isn't there"; continue; }; \
	  PYTHON=$$python tools/dev/venv.sh .venv-$$version .venv-$$version/.stamp --group test && \
	  .venv-$$version/bin/python -m pytest $(PYTEST_ARGS) -m "not interop and not slow and not spark" || exit 1; \
	done

# The cores, and what the newest interpreters change most often: event loops, threads, pickles, records.
test-newest:  ## A part of the tests with the newest Python that is there, if `make test` has an older one
	@python=$$(tools/dev/newest.sh) || { echo "there is no newer Python than $$(python3 --version)"; exit 0; }; \
	PYTHON=$$python tools/dev/venv.sh .venv-newest .venv-newest/.stamp --group test && \
	.venv-newest/bin/python -m pytest $(PYTEST_ARGS) -m "not interop and not slow and not spark" $(NEWEST)

dist: $(VENV)/.stamp  ## sdist and wheel in build/dist, checked, and used in a clean environment
	tools/dev/release.sh $(PY) build/dist

clean:  ## Removes all output of make and the tools
	rm -rf $(VENV) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "make %-18s %s\n", $$1, $$2}'

$(VENV)/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh $(VENV) $@ --java --spark --group test

$(VENV)/.stamp-dev: pyproject.toml tools/dev/venv.sh $(VENV)/.stamp
	@tools/dev/venv.sh $(VENV) $@ --java --spark --group dev

.venv-bench/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh .venv-bench $@ --java --spark --group peers

.venv-docs/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh .venv-docs $@ --group docs
