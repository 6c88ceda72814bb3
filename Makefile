PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA ?= ../shared/data
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
SOURCES := pyproject.toml
LOCOMO := --dataset locomo --data $(DATA)/locomo/locomo_dev5.json --categories 1-4 --cache .cache/bench
LONGMEMEVAL := --dataset longmemeval --data $(DATA)/longmemeval/longmemeval_s_dev60.jsonl.gz --cache .cache/bench

.PHONY: demo test lint format bench bench-speed test-all clean

demo: $(VENV)/.core  ## index a conversation and look six questions up, with nothing but the default install
	$(BIN)/memorai demo

test: $(VENV)/.dev  ## what CI runs
	$(BIN)/python -m pytest -q

test-all: $(VENV)/.dev  ## slow checks too; those on real data read DATA
	MEMORAI_DATA=$(abspath $(DATA)) $(BIN)/python -m pytest -q -m "slow or not slow"
	.ci/langchain-lanes

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## search quality on LoCoMo and LongMemEval, from DATA, and the tables of the README
	$(BIN)/memorai bench retrieval $(LOCOMO) --systems memorai,paper,bm25,dense,bm25+dense,ppr,segments,summaries --json .cache/locomo.json
	$(BIN)/memorai bench retrieval $(LOCOMO) --analyzer annotations --systems memorai,ppr,bm25+dense --json .cache/annotations.json
	$(BIN)/memorai bench ablations $(LOCOMO) --json .cache/ablations.json
	$(BIN)/memorai bench retrieval $(LONGMEMEVAL) --json .cache/longmemeval.json
	$(BIN)/memorai bench tables .cache/locomo.json .cache/annotations.json .cache/ablations.json .cache/longmemeval.json --write README.md

bench-speed: $(VENV)/.dev  ## latencies, sizes and rates, on generated data and on DATA where it is there
	$(BIN)/python -m memorai_core.bench.speed --data $(DATA)

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("memorai needs Python 3.11 or newer, this is " + sys.version) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python $(SOURCES)
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/bin/python $(SOURCES)
	$(PIP) -e '.[dev,langchain,classic,agents,llamaindex,models,bench]'
	touch $@ $(VENV)/.core
