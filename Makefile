# Two commands for a newcomer: `make demo` and `make test`. Each makes .venv itself. CONTRIBUTING.md names the others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo test test-slow quick coverage faults benchmarks notebooks verify-exports axe check lint format types wheel index docs clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
ifdef UV
	uv venv --quiet --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif

# One stamp for each set of packages; the constraints make today's install and next year's the same.
$(VENV)/.user: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing Judgewright and what it needs into $(VENV)/: about 1 GB on disk, once; two to ten minutes."
ifdef UV
	@uv pip install --quiet --python $(BIN)/python -c constraints.txt -e ".[all]"
else
	@$(BIN)/python .ci/install.py -c constraints.txt -e ".[all]"
endif
	@echo "Installed."
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	@echo "Installing Judgewright and its tests' tools into $(VENV)/: about 1 GB on disk, once; two to ten minutes."
ifdef UV
	@uv pip install --quiet --python $(BIN)/python -c constraints.txt -e ".[all,dev]"
else
	@$(BIN)/python .ci/install.py -c constraints.txt -e ".[all,dev]"
endif
	@echo "Installed."
	@touch $@ $(VENV)/.user

demo: $(VENV)/.user
	@echo "The demo takes a minute or two."
	@$(BIN)/judgewright demo --dir demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile --durations=40 -m "not slow"

# The rest: what kills processes, plays dice for minutes or drives a browser for long.
test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile --durations=40 -m slow

# The tests near what changed since BASE (a branch, or HEAD for what is not committed): a first answer, not the last.
BASE ?= main
quick: $(VENV)/.dev
	@$(BIN)/python .ci/near.py $(BASE)

# The whole suite with branch coverage, processes that tests start included; it fails under the floor in pyproject.toml.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile --cov --cov-report=term:skip-covered

# The outputs that are stored with the notebooks, made again; two of them need ../shared/data and are else left alone.
notebooks: $(VENV)/.dev
	$(BIN)/python tests/notebooks/store_outputs.py

# Each tool in an environment of its own; what a registry refuses is said, and its tests skip.
verify-exports: $(VENV)/.dev
	$(BIN)/python tests/runs/exports/install_tools.py
	$(BIN)/python -m pytest tests/runs/exports tests/judges/simulated/test_decision_server.py

# What axe-core finds on every page, in both widths and colours; of a list's lines, which are alike, the suite tries two.
axe: $(VENV)/.dev
	JUDGEWRIGHT_AXE_EVERY=1 $(BIN)/python -m pytest tests/runs/review/test_keyboard.py

# Every fault of docs/reliability.md as often as at night (500 kills), and the figures written into the page; twenty minutes, and it can be stopped.
faults: $(VENV)/.dev
	$(BIN)/python benchmarks/faults.py

# Ours against the peers that can be installed, as ratios, and calls of functions a row; a first look: QUICK=--quick.
benchmarks: $(VENV)/.dev
	$(BIN)/python tests/runs/exports/install_tools.py slices
	$(BIN)/python benchmarks/peers.py $(QUICK)

check: lint types test test-slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The type checker finds the package under its name through a link; the checkout itself is the package.
types: $(VENV)/.dev
	@mkdir -p .types && ln -sfn .. .types/judgewright
	$(BIN)/pyright

# The site is built without the network, into site/; a warning is an error.
docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict --quiet

wheel: $(VENV)/.dev
	rm -rf build dist
	$(BIN)/python -m build --quiet

# What an index takes: the wheel and the sdist, with their metadata checked as the index would check it.
index: wheel
	@$(PYTHON) -m venv $(VENV)/twine
	@$(VENV)/twine/bin/python -m pip install --quiet --disable-pip-version-check twine
	$(VENV)/twine/bin/twine check --strict dist/*
	@grep -q '^\[project.urls\]' pyproject.toml || echo "pyproject.toml has no [project.urls]: an index would not say where the code is."
	@echo "To upload: $(VENV)/twine/bin/twine upload dist/*"

clean:
	rm -rf $(VENV) .verify .types site build dist *.egg-info demo
