# What a person types. Every target sets up what it needs by itself, once, and again when pyproject.toml changes.

.DEFAULT_GOAL := help
.PHONY: demo test explore fuzz lint interop conformance conformance-check codegen-check bench bench-check clean help
SHELL := bash
# Tests and commands start many interpreters; compiling the modules anew in each costs more than all else.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest
# One process for Spark's session, one for what starts a Java process of its own; these wait a lot, and so do tests of
# heartbeats: two processors are busy with three.
PYTEST_ARGS ?= -q -n 3 --dist loadgroup
EXPLORE_S ?= 300
FUZZ_S ?= 300
FUZZ_SEED ?= 1
RULE_OUTCOMES ?= build/rule-outcomes.json

demo: $(VENV)/.stamp  ## The main job, start to end: recorded traffic to tables in Spark
	@$(VENV)/bin/amqp-sansio demo

test: $(VENV)/.stamp  ## The test suite without real brokers
	$(PYTEST) $(PYTEST_ARGS) --rule-outcomes=$(RULE_OUTCOMES)

explore: $(VENV)/.stamp  ## The properties and state machines with new seeds and more examples, for EXPLORE_S seconds
	$(PY) -m tools.explore --seconds $(EXPLORE_S) $(if $(EXPLORE_SEED),--seed $(EXPLORE_SEED))

fuzz: $(VENV)/.stamp  ## Damaged and hostile octets for every part that reads them, from FUZZ_SEED, for FUZZ_S seconds
	$(PY) -m tools.fuzz --seconds $(FUZZ_S) --seed $(FUZZ_SEED) $(if $(FUZZ_CASES),--cases $(FUZZ_CASES))

lint: $(VENV)/.stamp-dev  ## ruff, mypy --strict, pyright strict
	$(PY) -m ruff check --output-format=concise .
	$(PY) -m mypy
	$(PY) -m pyright --pythonpath $(PY)

interop: $(VENV)/.stamp-dev  ## Tests against RabbitMQ, Qpid Broker-J, proton, rhea, pyamqp and Qpid's JMS client, started and stopped by the tests
	$(PYTEST) -q -m interop tests/interop

conformance: $(VENV)/.stamp  ## Runs the test suite and writes docs/conformance.md and docs/conformance.json
	@status=0; \
	$(PYTEST) $(PYTEST_ARGS) --rule-outcomes=$(RULE_OUTCOMES) || status=$$?; \
	$(PY) -m tools.conformance --outcomes $(RULE_OUTCOMES) --write docs && exit $$status

conformance-check: $(VENV)/.stamp  ## Compares docs/conformance.* with the last run of the test suite
	$(PY) -m tools.conformance --outcomes $(RULE_OUTCOMES) --check docs

codegen-check: $(VENV)/.stamp  ## Generated code is what the generator writes
	$(PY) -m tools.codegen --check

bench: .venv-bench/.stamp  ## Compares speed with other libraries
	.venv-bench/bin/python benchmarks/run.py

bench-check: .venv-bench/.stamp  ## Compares the ratios with the committed ones; BENCH names parts
	.venv-bench/bin/python benchmarks/run.py --check $(BENCH)

clean:  ## Removes what make and the tools wrote
	rm -rf $(VENV) .venv-bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "make %-18s %s\n", $$1, $$2}'

$(VENV)/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh $(VENV) $@ --java --spark --group test

$(VENV)/.stamp-dev: pyproject.toml tools/dev/venv.sh $(VENV)/.stamp
	@tools/dev/venv.sh $(VENV) $@ --java --spark --group dev

.venv-bench/.stamp: pyproject.toml tools/dev/venv.sh
	@tools/dev/venv.sh .venv-bench $@ --java --spark --group peers
