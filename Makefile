# `make demo` and `make test` set everything up on a machine that has Python >= 3.11 and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export GOMP_SPINCOUNT ?= 3000

.PHONY: demo test lint unit strict docs dist wheel lowest clean

demo: $(STAMP)
	$(BIN)/graphmae demo

test: lint unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile # one process per core: their threads would wait

# The same tests with no network but the machine itself, a home that cannot be written, in random order, and no file left
# open. Linux.
strict: $(STAMP)
	mkdir -p build/home
	unshare --map-root-user --net --mount sh -c 'ip link set lo up && mount -t tmpfs -o ro tmpfs build/home && \
	HOME=$$PWD/build/home OPENBLAS_NUM_THREADS=1 $(BIN)/python -W error::ResourceWarning -m pytest -n auto --dist loadfile --random-order'

# The site, into build/docs; open build/docs/index.html. A warning is an error.
docs: $(STAMP)
	$(BIN)/python -m sphinx -b html -q -W --keep-going -d build/docs-trees docs build/docs

# What a release uploads: the sdist, and the wheel made from it; both checked.
DIST := build/dist
dist: $(STAMP)
	rm -rf $(DIST)
	$(BIN)/python -m build --outdir $(DIST) .
	$(BIN)/python -m twine check --strict $(DIST)/*
	$(BIN)/python tests/packaging/contents.py $(DIST)

# The wheel as a user gets it: alone in an empty environment, without extras.
WHEEL := build/wheel
wheel:
	rm -rf $(WHEEL) && mkdir -p $(WHEEL)
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(WHEEL) .
	$(PYTHON) -m venv $(WHEEL)/env
	$(WHEEL)/env/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(WHEEL)/env/bin/python -m pip install --quiet --disable-pip-version-check $(WHEEL)/*.whl
	$(WHEEL)/env/bin/python -m pip check
	$(WHEEL)/env/bin/python tests/packaging/core_only.py
	cd $(WHEEL) && env/bin/graphmae demo

# The same with the lowest versions that are allowed: tables become embeddings, missing extras answer with their line.
LOWEST := build/lowest
lowest:
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint .ci/lowest.txt .
	$(LOWEST)/bin/python tests/packaging/core_only.py

# torch first and pinned: the index's newest build would pull gigabytes of CUDA libraries.
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs,mol]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
