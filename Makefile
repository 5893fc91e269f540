# Every target makes the environment it needs first; on an up-to-date one that costs
# nothing. `make test ARGS="tests/trees -k reasons"` passes ARGS on to pytest.

PYTHON ?= python3
VENV ?= .venv
OLDEST ?= .venv-oldest
WITHOUT_TORCH ?= .venv-without-torch
XRD ?= .venv-xrd
WORKERS ?= 2
ARGS ?=

BIN := $(VENV)/bin
COMMA := ,
BENCHES := $(patsubst benchmarks/%.py,%,$(wildcard benchmarks/[a-z]*.py))
SINGLE := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg
.DEFAULT_GOAL := help
.PHONY: help demo test test-oldest test-without-torch test-browser test-xrd lint docs docs-xrd \
	bench stubs clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/core.stamp  ## a tuned tree on real data, its rules, and what missing cells cost
	$(SINGLE) $(BIN)/skinterp demo $(ARGS)

test: $(VENV)/test.stamp  ## the whole suite, on the tested versions
	$(SINGLE) $(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-oldest: $(OLDEST)/test.stamp  ## the whole suite, on the oldest supported versions
	$(SINGLE) $(OLDEST)/bin/python -m pytest -n $(WORKERS) $(ARGS)

test-without-torch: $(WITHOUT_TORCH)/test.stamp  ## what has to work without torch
	! $(WITHOUT_TORCH)/bin/python -c 'import torch' 2>/dev/null
	$(SINGLE) $(WITHOUT_TORCH)/bin/python -m pytest -n $(WORKERS) \
		tests/neural tests/cli tests/plugins tests/test_imports.py tests/test_methods.py \
		skinterp/neural $(ARGS)

test-browser: $(VENV)/test.stamp  ## open an explanation's page in headless Chromium
	$(SINGLE) $(BIN)/python -m pytest --runbrowser -m browser tests/browser $(ARGS)

test-xrd: $(XRD)/test.stamp  ## the tests of the plugin skinterp-xrd
	cd plugins/skinterp-xrd && $(SINGLE) $(abspath $(XRD))/bin/python -m pytest -n $(WORKERS) $(ARGS)

lint: $(VENV)/test.stamp $(VENV)/lint.stamp  ## ruff, mypy, codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file plugins/skinterp-xrd/pyproject.toml plugins/skinterp-xrd/src
	$(BIN)/codespell

docs: $(VENV)/docs.stamp  ## the documentation, warnings as errors, without a network
	$(SINGLE) $(BIN)/python -m sphinx -W --keep-going -n -b html doc doc/_build/html

docs-xrd: $(XRD)/docs.stamp  ## the documentation of the plugin skinterp-xrd
	cd plugins/skinterp-xrd && $(SINGLE) $(abspath $(XRD))/bin/python -m sphinx -W --keep-going -n \
		-b html doc doc/_build/html

bench: $(addprefix bench-,$(BENCHES))  ## all benchmarks; one of them: make bench-boolean_tree

bench-%: $(VENV)-bench-%/core.stamp
	$(SINGLE) $(VENV)-bench-$*/bin/python -m benchmarks.$* $(ARGS)

stubs: $(VENV)/core.stamp  ## rewrite what the method table decides: .pyi files, README
	$(BIN)/python -m skinterp._lazy
	$(BIN)/python doc/method_tables.py

clean:  ## remove environments, caches and built pages
	rm -rf .venv .venv-* build dist *.egg-info .pytest_cache .mypy_cache \
		.ruff_cache .hypothesis doc/_build doc/generated doc/gallery_built
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments. Each stamp is one extra installed; all are renewed when the package's
# metadata or the pinned versions change. setuptools comes first and serves the build
# (no isolation), so that the build is pinned like everything else.

define create
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "skinterp needs Python 3.11 or newer; try: make PYTHON=python3.12 ..."; exit 1; }
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check -c $(2) setuptools packaging
endef

define install
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation -c $(2) --editable .$(3)
	@touch $@
endef

$(VENV)/core.stamp: pyproject.toml constraints.txt
	$(call create,$(VENV),constraints.txt)
	$(call install,$(VENV),constraints.txt)

$(VENV)/%.stamp: $(VENV)/core.stamp
	$(call install,$(VENV),constraints.txt,[$*])

$(VENV)/test.stamp: $(VENV)/core.stamp
	$(call install,$(VENV),constraints.txt,[test$(COMMA)test-optional])

$(WITHOUT_TORCH)/test.stamp: pyproject.toml constraints.txt
	$(call create,$(WITHOUT_TORCH),constraints.txt)
	$(call install,$(WITHOUT_TORCH),constraints.txt,[test])

# A plugin is no part of the environment that the core is tested in.
$(XRD)/%.stamp: pyproject.toml constraints.txt plugins/skinterp-xrd/pyproject.toml
	$(call create,$(XRD),constraints.txt)
	$(call install,$(XRD),constraints.txt,[torch] --editable 'plugins/skinterp-xrd[$*]')

$(OLDEST)/test.stamp: pyproject.toml constraints-oldest.txt
	$(call create,$(OLDEST),constraints-oldest.txt)
	$(call install,$(OLDEST),constraints-oldest.txt,[test])

.PRECIOUS: $(VENV)-bench-%/core.stamp
# Peers stay in environments of their own: some force old versions of what we need.
$(VENV)-bench-%/core.stamp: pyproject.toml constraints.txt
	$(call create,$(VENV)-bench-$*,constraints.txt)
	$(VENV)-bench-$*/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --editable . \
		$(addprefix -r ,$(wildcard benchmarks/requirements-$(subst _,-,$*).txt))
	@touch $@
