# `make demo` shows the product, `make test` checks it. Both set up what they need and are quick the second time.
# Needs Python 3.11 or later, Java 17 and make.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV_VERSION := 0.13.9
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OUT := build/demo
# uv trusts what the system trusts, as pip does: a network may have a certificate of its own.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem),)
export UV_SYSTEM_CERTS ?= true
endif
PACKAGES := groupscope parsers models pipelines dashboards conf
CORPORA ?= ../shared/corpora
SCORE ?= ../shared/tools/score.py

# Each sample folder is a cluster of its own, and one was logged in another zone (see data_samples/README.md).
SAMPLE_OPTIONS := --settings data_samples/settings.toml

.PHONY: help setup demo test lint browser coverage corpus-score accuracy compare digests bench pictures docs site lock clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup: $(READY) ## a virtual environment with everything that the lock file names

$(VENV)/bin/uv:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "error: Python 3.11 or later is needed; name one with make PYTHON=...")'
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# Compiled once: where no bytecode may be written (PYTHONDONTWRITEBYTECODE), each start would compile anew, half a second of it.
$(READY): requirements.lock pyproject.toml | $(VENV)/bin/uv
	@command -v java > /dev/null || { echo 'error: no java on the PATH; install Java 17 (Debian: openjdk-17-jre-headless)' >&2; exit 1; }
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes --compile-bytecode -r requirements.lock
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q $(PACKAGES)
	@$(BIN)/python -m pipelines.versions
	@touch $@

demo: $(READY) ## run the main job on data_samples: Spark, Delta tables, report
	@mkdir -p $(OUT)
	@echo 'Running the job over data_samples; Spark starts first ...'
	@$(BIN)/groupscope run --input data_samples --warehouse $(OUT)/warehouse $(SAMPLE_OPTIONS)
	@$(BIN)/groupscope report --quiet --warehouse $(OUT)/warehouse --title 'Sample logs' --out $(OUT)/report.html
	@echo
	@echo 'Report:  $(OUT)/report.html  (open it in a browser; it needs no network)'
	@echo 'Tables:  $(BIN)/groupscope rebalances --warehouse $(OUT)/warehouse'
	@echo 'Ask:     $(BIN)/groupscope explain shipping-e/2 data_samples/kafka/1.1.1/poll-timeout'

test: $(READY) lint browser ## linters, types, import directions and all tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The browser tests skip, and say why, where there is no Chromium and no right to install one.
browser:
	@command -v chromium chromium-browser google-chrome > /dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get > /dev/null || \
	  { echo 'installing chromium for the browser tests'; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends chromium; } > /dev/null \
	    || echo 'chromium could not be installed: the browser tests will be skipped'; }

coverage: $(READY) ## branch coverage of models/, which must be whole, by its tests and by the labelled corpora
	$(BIN)/coverage erase
	if [ -d $(CORPORA) ]; then $(BIN)/coverage run --source=models -m tests.corpus.walk $(CORPORA); fi
	$(BIN)/python -m pytest --quiet --numprocesses auto --cov=models --cov-branch --cov-append \
	  --cov-report=term-missing:skip-covered --cov-fail-under=100 tests/models tests/behaviour tests/test_metamorphic.py tests/test_data_samples.py tests/test_resumed_replay.py

corpus-score: $(READY) ## score the analysis against the labelled Kafka corpora
	$(BIN)/python $(SCORE) $(CORPORA)/kafka --protocol classic --jobs 2 -- \
	  $(BIN)/groupscope analyze {logs} --log-tz {tz} --log-tz 'clients/*={client_tz}' --json
	$(BIN)/python $(SCORE) $(CORPORA)/kafka --protocol classic --files server --jobs 2 -- \
	  $(BIN)/groupscope analyze {logs} --log-tz {tz} --log-tz 'clients/*={client_tz}' --json

accuracy: $(READY) ## write docs/accuracy.md from the labelled Kafka corpora
	$(BIN)/python -m tests.corpus.accuracy $(CORPORA)/kafka $(SCORE)

compare: $(READY) ## the same rows from analyze, from the Spark job and from the Delta tables
	$(BIN)/python -m tests.compare_paths $(CORPORA)/kafka

digests: $(READY) ## compare the rows of all labelled corpora with those that were last looked at
	$(BIN)/python -m tests.corpus.digests

bench: $(READY) ## measure the parser against DuckDB on input of its own making
	$(BIN)/python -m tests.benchmarks.bench_parse

pictures: $(READY) browser ## draw docs/pictures from the report of data_samples, light and dark
	$(BIN)/python docs/draw_pictures.py

docs: $(READY) ## write the pages that are made: tables, states, commands, the manual page, clients, dbt's sources
	$(BIN)/python docs/write_tables.py
	$(BIN)/python docs/write_states.py
	$(BIN)/python docs/write_dbt.py
	$(BIN)/python docs/write_clients.py
	$(BIN)/python docs/write_commands.py

site: $(READY) ## build the site of the documentation in build/site; it needs no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo 'Site:  build/site/index.html'

RESOLVE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

lock: $(READY) ## resolve the dependencies again, and those of the images to the same versions
	$(RESOLVE) --extra dev --upgrade --output-file requirements.lock
	$(RESOLVE) --extra redact --constraint requirements.lock --no-annotate --output-file docs/images/cli.lock
	$(RESOLVE) --extra spark --constraint requirements.lock --no-annotate --output-file docs/images/spark.lock

clean: ## remove what can be made again
	rm -rf build dist $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis spark-warehouse
