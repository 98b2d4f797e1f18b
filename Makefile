# Everything there is to run. Needs make, sh, git and CPython 3.11 or later; the rest is set up in .venv on demand.

VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

# How to ask a Python whether it will do; prints its version, 3.11, where it does. Pre-releases are left to their fans.
FITS := import sys; v = sys.version_info; \
	v >= (3, 11) and v.releaselevel == "final" and sys.implementation.name == "cpython" or sys.exit(1); \
	print(f"{v.major}.{v.minor}")
NAMES := python3.11 python3 python3.12 python3.13 python3.14 python3.15 python3.16

# Looked up only when the environment is made. A name alone proves nothing: it may be a shim with no Python behind it.
PYTHON ?= $(shell for p in $(NAMES); do "$$p" -c '$(FITS)' >/dev/null 2>&1 && echo "$$p" && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo test test-all console lab check bench clean
.NOTPARALLEL:  # two pips in one environment would get in each other's way

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.has-demo  ## set up and run the tour: a notebook, a killed kernel, and what outlives it
	$(BIN)/python docs/tour/tour.py

test: $(VENV)/.has-test  ## set up and run every test; ARGS="-k name" is passed to pytest
	$(BIN)/pytest $(ARGS)

test-all: $(VENV)/.made  ## every test with each CPython from 3.11 on that is on PATH or in pyenv
	@first=$$($(BIN)/python -c '$(FITS)') || exit 1; \
	seen=" $$first "; failed=; \
	echo "== Python $$first"; \
	$(MAKE) test || failed=" $$first"; \
	for python in $(NAMES) "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/*/bin/python3; do \
	    version=$$("$$python" -c '$(FITS)' 2>/dev/null) || continue; \
	    case "$$seen" in *" $$version "*) continue;; esac; \
	    seen="$$seen$$version "; \
	    echo "== Python $$version"; \
	    $(MAKE) test VENV=.venv-$$version PYTHON="$$python" || failed="$$failed $$version"; \
	done; \
	echo "== tested with Python$$seen"; \
	test -z "$$failed" || { echo "== failed with Python$$failed" >&2; exit 1; }

console: $(VENV)/.has-console  ## open the kernel in a terminal
	$(BIN)/jupyter console --kernel perdure $(ARGS)

lab: $(VENV)/.has-lab  ## open JupyterLab, where new notebooks use the kernel
	$(BIN)/jupyter lab --MultiKernelManager.default_kernel_name=perdure $(ARGS)

check: $(VENV)/.has-test $(VENV)/.has-dev  ## lint, format, types, import rules; all of them, whatever fails
	@failed=; \
	for checker in "ruff check ." "ruff format --check ." "mypy" "lint-imports"; do \
	    echo "== $$checker"; $(BIN)/$$checker || failed="$$failed [$$checker]"; \
	done; \
	test -z "$$failed" || { echo "== failed:$$failed" >&2; exit 1; }

bench: $(VENV)/.has-test  ## measure against the budgets
	@for script in bench/[!_]*.py; do \
	    test -e "$$script" || { echo "There is no benchmark yet."; break; }; \
	    echo "== $$script"; $(BIN)/python "$$script" $(ARGS) || exit 1; \
	done

clean:  ## remove the environments, caches and build leftovers
	rm -rf .venv .venv-* build dist perdure.egg-info
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .coverage*
	find . -name __pycache__ -prune -exec rm -rf {} +

# Stamps: an environment is set up once for each extra, and again when what it is made from changes.
$(VENV)/.has-%: $(VENV)/.made pyproject.toml constraints.txt kernelspec/kernel.json
	@echo "Setting up $(VENV) for $* …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$*]'
	@# An editable install brings no data files, so the kernelspec is installed by itself.
	@$(BIN)/python -m perdure.kernel install --sys-prefix >/dev/null
	@touch $@

$(VENV)/.made:
	@test -n "$(PYTHON)" || { \
	    echo "perdure needs CPython 3.11 or later, and none is on PATH. Install one, or name it: make PYTHON=/path/to/python3" >&2; \
	    exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	    echo "$(PYTHON) cannot make an environment; on Debian and Ubuntu, install its package python3-venv." >&2; \
	    exit 1; }
	@touch $@
