# `make run` and `make test` do all the set-up on a machine with Python 3.11 or newer.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# what runs, and on top of it what is needed to develop
RUNS := .venv/.runs
READY := .venv/.ready
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One more than there are cores: tests that start real servers wait more than they compute. With two more it takes as long.
JOBS ?= $(shell expr $(CORES) + 1)
# Tests of a file share what takes long to make; see tests/spread.py, and tests/conftest.py for their order.
SPREAD := --dist loadfile --no-loadscope-reorder
# What mypy knows is kept for other clones: it looks again at what differs only, in seconds instead of half a minute.
KEPT := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/remuda
SEED ?= 1
MACHINES ?= 100000
CLUSTERS ?= 200
# Compiled files are kept: compiling the tests anew takes longer than running the quick ones.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test pytest coverage quick lint types bench sim soak site chart dist mutants servers lock clean help

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(RUNS): deploy/runtime.lock deploy/build.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Remuda needs Python 3.11 or newer; none was found on the PATH"; exit 2; }
	@echo "1 of 3  making .venv with $(PYTHON)"
	@$(PYTHON) -m venv .venv
	@echo "2 of 3  installing $$(grep -c == deploy/runtime.lock) packages that run and $$(grep -c == deploy/build.lock) that build"
	@$(PIP) install --require-hashes -r deploy/runtime.lock -r deploy/build.lock
	@echo "3 of 3  installing Remuda"
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

$(READY): $(RUNS) requirements.lock
	@echo "installing what Remuda is developed with: $$(grep -c == requirements.lock) packages"
	@$(PIP) install --require-hashes -r requirements.lock
	@touch $@

run: $(RUNS)  ## start Remuda with the laptop example, and open its dashboard
	$(BIN)/remuda up examples/laptop.yaml --open

test: $(READY) lint  ## everything CI runs
	@$(MAKE) --no-print-directory -j 3 pytest types coverage

pytest: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) $(SPREAD) --durations=20 --durations-min=1

coverage: $(READY)
	JOBS=1 $(BIN)/python -m tests.coverage

quick: $(READY)  ## unit tests and properties with few examples, under 25 s
	JOBS=$(CORES) $(BIN)/python -m tests.quick

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	@test -d .mypy_cache || { rm -rf .cache/mypy && mkdir -p .cache/mypy && tar -xf $(KEPT)/mypy.tar -C .cache/mypy && \
	  mv .cache/mypy/.mypy_cache .; } 2>/dev/null || true
	$(BIN)/mypy
	@mkdir -p $(KEPT) && tar -cf $(KEPT)/mypy.tar.$$$$ .mypy_cache && mv $(KEPT)/mypy.tar.$$$$ $(KEPT)/mypy.tar

bench: $(READY)  ## one table of measured speeds
	$(BIN)/python -m bench

sim: $(READY)  ## the seeded histories; one of them again with SEED=…
	$(BIN)/python -m pytest -n $(JOBS) tests/sim
	$(BIN)/remuda simulate pools --seed $(SEED)
	$(BIN)/remuda simulate fleet --seed $(SEED)
	$(BIN)/remuda simulate tiers --seed $(SEED)

mutants: $(READY)  ## break judgement in some hundred small ways and print what the close tests do not notice
	$(BIN)/python -m tests.mutants --seed $(SEED) --jobs $(CORES)

soak: $(READY)  ## new seeds and a simulated day of MACHINES, for as long as you like
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -n $(JOBS) tests/pools tests/rules tests/sim tests/tiers/test_settling.py
	$(BIN)/remuda simulate pools --seed $(SEED)000 --seeds 200
	$(BIN)/remuda simulate fleet --seed $(SEED)000 --seeds 200
	$(BIN)/remuda simulate tiers --seed $(SEED)000 --seeds 200
	$(BIN)/remuda simulate fleet --seed $(SEED) --machines $(MACHINES) --clusters $(CLUSTERS) --hours 24 --faults some -o json

site: $(READY)  ## the documentation as a site, in build/site
	$(BIN)/python -m manual build/docs
	$(BIN)/zensical build --strict --clean

chart: $(READY)  ## the whole Helm chart, in build/charts
	PATH=$(CURDIR)/$(BIN):$$PATH charts/package

dist: $(READY)  ## sdist, wheel, bill of materials, provenance and their checksums, in dist
	rm -rf dist
	$(BIN)/python -m hatchling build -t sdist -t wheel
	$(BIN)/python deploy/sbom.py > dist/remuda.cdx.json
	$(BIN)/python deploy/provenance.py dist > dist/remuda.intoto.json
	cd dist && sha256sum remuda* > SHA256SUMS && cat SHA256SUMS

lock:  ## renew the locked versions
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --group dev pyproject.toml --generate-hashes --no-emit-index-url --universal \
	  -o requirements.lock
	$(BIN)/python deploy/part_of_lock.py requirements.lock remuda jinja2 psycopg > deploy/runtime.lock
	$(BIN)/python deploy/part_of_lock.py requirements.lock hatchling editables > deploy/build.lock

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

servers: $(READY)  ## etcd, kube-apiserver and the other real servers that tests use, found or built, and guests that have booted
	$(BIN)/python -m tests.servers get
	$(BIN)/python -m tests.providers.kubevirt.guest.saved
