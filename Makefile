# From a fresh clone: `make demo` and `make test` set up what they need by themselves.
# Everything stays in this folder: the virtual environment in .venv, weights and runs in .motet.

VENV ?= .venv
RUN = $(VENV)/bin/python -m

# Weights and runs of the demo, the examples and the tests. A store or a home of yours is not touched.
export MOTET_HOME := $(CURDIR)/.motet
unexport MOTET_STORE

# The first of these that runs and is new enough. A name alone proves nothing: version managers leave launchers for
# versions that are not selected.
PYTHON ?= $(shell for name in python3.13 python3.12 python3.11 python3 python; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$name; break; fi; done)

READY = $(VENV)/.ready
# Each says at its top what it measures, and fails when Motet is below what it promises.
BENCHMARKS = startup installed_size agent_steps in_flight store_commits corpus_index sandbox_start inherit_engine inherit_records $(if $(MOTET_DATA_DIR),workbench)

WEIGHTS = .motet/models/smollm2/manifest.json

.PHONY: help setup demo test test-all lint format types bench lock
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

setup: $(READY) $(WEIGHTS) ## Make .venv with everything in it, and get the weights of the embedded model (98 MB)

demo: setup ## Answer a question over examples/corpus with the embedded model (a tiny one) and show where each token went
	@echo "== A question over the sixteen documents in examples/corpus, put to a very small model in this process"
	$(VENV)/bin/motet solve "Where was Thomas Tallis buried?" --model embedded --tools corpus:examples/corpus -c sampling.temperature=0
	@echo "== To look inside: MOTET_HOME=.motet $(VENV)/bin/motet show last --calls"

test: setup lint types ## Check style, types, floors and behaviour; minutes
	@echo "== Tests, with branch coverage"
	$(RUN) pytest -q -m "not slow" -n auto --dist loadscope --cov --cov-report=term

test-all: setup lint types ## `make test` and the slow tests: soaks, random kills
	@echo "== All tests, with branch coverage"
	$(RUN) pytest -q -n auto --dist loadscope --cov --cov-report=term

lint: $(READY) ## Check style, format and the floors (which module may import which)
	@echo "== Style, format, floors"
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(VENV)/bin/lint-imports

format: $(READY) ## Rewrite the code in its one format, and mend what ruff can mend
	$(RUN) ruff check --fix
	$(RUN) ruff format

types: $(READY) ## Check the types, tests and examples included
	@echo "== Types"
	$(RUN) mypy

bench: setup ## Measure speed, load, start-up and size, each beside a bare client or interpreter
	@failed=; for name in $(BENCHMARKS); do \
		echo "== $$name"; $(RUN) benchmarks.$$name || failed="$$failed $$name"; done; \
	if [ -n "$$failed" ]; then echo "below what is promised:$$failed" >&2; exit 1; fi

lock: ## Write constraints.txt anew: the newest of everything that pyproject.toml allows
	@echo "== Resolving in a fresh environment (needs Python 3.11, the oldest one supported)"
	rm -rf build/lock && mkdir -p build
	python3.11 -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade pip
	build/lock/bin/python -m pip install --quiet -e '.[all]' --group dev
	@{ sed -n '/^#/!q;p' constraints.txt; \
	   build/lock/bin/python -m pip freeze --all --exclude-editable --exclude setuptools; } > build/constraints.txt
	mv build/constraints.txt constraints.txt
	rm -rf build/lock

# A stamp is made only when all before it went well; the old one goes first, so that a failure leaves none.
$(READY): pyproject.toml constraints.txt Makefile
	@echo "== Setting up $(VENV) (a few minutes the first time)"
	@rm -f $@
	@python='$(PYTHON)'; \
	if [ -z "$$python" ]; then \
		echo "Motet needs Python 3.11 or newer, and none was found. Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Motet needs Python 3.11 or newer; $$python is not. Name another: make PYTHON=/path/to/python3" >&2; exit 1; }; \
	wanted=$$($$python -c 'import sys; print(*sys.version_info[:2])'); \
	found=$$($(VENV)/bin/python -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null || true); \
	if [ "$$wanted" != "$$found" ]; then $$python -m venv --clear $(VENV); fi
	$(RUN) pip install --quiet --upgrade -c constraints.txt pip
	$(RUN) pip install --quiet -c constraints.txt --build-constraint constraints.txt -e '.[all]' --group dev
	@touch $@

$(WEIGHTS): | $(READY)
	@echo "== Weights of the embedded model"
	$(VENV)/bin/motet models get smollm2
