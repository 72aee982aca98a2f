# Two commands for a newcomer: `make demo` and `make test`. Each makes .venv itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo test verify-exports check lint format types wheel docs clean

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
ifdef UV
	uv pip install --quiet --python $(BIN)/python -c constraints.txt -e .
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
endif
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
ifdef UV
	uv pip install --quiet --python $(BIN)/python -c constraints.txt -e ".[dev]"
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
endif
	@touch $@ $(VENV)/.user

demo: $(VENV)/.user
	$(BIN)/judgewright demo --dir demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile

# Each tool in an environment of its own; what a registry refuses is said, and its tests skip.
verify-exports: $(VENV)/.dev
	$(BIN)/python tests/runs/exports/install_tools.py
	$(BIN)/python -m pytest tests/runs/exports

check: lint types test

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

clean:
	rm -rf $(VENV) .verify .types site build dist *.egg-info demo
