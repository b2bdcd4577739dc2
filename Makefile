# With Python 3.11 or newer:
#   make demo   install what the demos need, run them on real data, save their figures
#   make test   install, run ruff and every test
#   make docs   build the documentation and run the examples; open docs/_build/html/index.html
#   make bench-quick   compare the speed with the recorded one: 3 to 5 minutes
#   make gpu    compare a GPU with the CPU, and measure it
# The environment is in .venv and is updated when pyproject.toml or constraints.txt change.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test pytest test-all test-lowest processors docs lint format bench-quick gpu clean

INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; call: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[test]"
	touch $@ $(VENV)/.ready-examples

# A part of what the tests need.
$(VENV)/.ready-examples: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[examples]"
	touch $@

demo: $(VENV)/.ready-examples
	OMP_NUM_THREADS=1 $(BIN)/python examples/demo.py

# One process per core with one thread each, because more threads than cores are slower.
# Neighbouring tests run in one process, which shares their fixtures. Compiled files are
# kept, for the processes that tests start.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal

# mypy runs next to the tests.
test: $(READY)
	$(MAKE) --jobs=2 lint pytest

pytest: $(READY)
	$(PYTEST)

# Includes the tests marked slow.
test-all: $(VENV)/.ready-nightly lint
	$(PYTEST) -m ""

$(VENV)/.ready-nightly: $(READY)
	$(INSTALL) ".[nightly]"
	touch $@

# Run the tests with the oldest versions of the dependencies, those in lowest.txt. The
# examples of docstrings show the figures of the newest.
LOWEST := .venv-lowest
test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --constraint lowest.txt ".[test]"
	$(LOWEST)/bin/python -m pip install --quiet --no-deps \
		transformers==4.56.0 tokenizers==0.22.0 huggingface_hub==0.36.2
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest tests -n logical --maxprocesses 4

# Run the tests with the kernels of other processors: make processors SETTING="--setting avx2"
processors: $(READY)
	$(BIN)/python tools/run_on_processors.py $(SETTING)

# Warnings are errors. GALLERY=0 does not run the examples. DOCS_URL, the address of the
# site, adds a menu of its versions.
GALLERY ?= 1
export DOCS_URL
docs: $(VENV)/.ready-docs
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -b html -D plot_gallery=$(GALLERY) docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

$(VENV)/.ready-docs: $(READY)
	$(INSTALL) ".[docs]"
	touch $@

# Windows opens text files in another encoding: each call of open names one.
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Compare the GPU with the CPU, then measure it, in about ten minutes:
#   make gpu                 installs from the network
#   make gpu WHEELS=folder   installs from the wheels of a folder only
#   make gpu SITE=1          begins with the packages that PYTHON has, such as torch
# Nothing is built: the package is used from this folder, by the environment .venv-gpu.
# Packages without which only some tests are skipped are installed where possible.
GPU := .venv-gpu
GPU_DEVICE ?= cuda
GPU_OUTPUT ?= gpu.json
WHEELS ?=
SITE ?=
GPU_INSTALL := $(GPU)/bin/python -m pip install --quiet --disable-pip-version-check \
	$(if $(WHEELS),--no-index --find-links $(WHEELS))

gpu: $(GPU)/.ready
	status=0; \
	PYTHONPATH=. $(GPU)/bin/python -m pytest -m gpu --gpu-device $(GPU_DEVICE) || status=1; \
	PYTHONPATH=. $(GPU)/bin/python benchmarks/gpu.py --device $(GPU_DEVICE) \
		--output $(GPU_OUTPUT) $(GPU_OPTIONS) || status=1; \
	exit $$status

$(GPU)/.ready: pyproject.toml
	$(PYTHON) -m venv $(if $(SITE),--system-site-packages) $(GPU) || \
		$(PYTHON) -m venv $(if $(SITE),--system-site-packages) --without-pip $(GPU)
	$(if $(SITE),$(PYTHON) tools/gpu_packages.py --link $(GPU))
	missing=$$($(GPU)/bin/python tools/gpu_packages.py); \
	[ -z "$$missing" ] || $(GPU_INSTALL) $$missing
	for package in $$($(GPU)/bin/python tools/gpu_packages.py --optional); do \
		$(GPU_INSTALL) "$$package" || echo "Without $$package some tests are skipped."; \
	done
	touch $@

# Compare 27 ratios with the recorded ones; fails if one is slower beyond noise. 3 to 5 minutes.
bench-quick: $(READY)
	$(BIN)/python benchmarks/quick.py $(QUICK)

clean:
	rm -rf $(VENV) $(GPU) $(LOWEST) .mypy_cache demo_output docs/_build docs/_generated docs/api docs/gallery
