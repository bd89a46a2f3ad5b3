# `make run`, `make test` and `make docs` set everything up by themselves; a second run starts at once.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: run test lint compiled docs bench wheel clean

run: .venv/for-run
	$(BIN)/thrifty reproduce --figures png $(ARGS)

test: .venv/for-test
	@$(MAKE) --no-print-directory --jobs=2 lint compiled
	$(BIN)/pytest -n auto --dist worksteal --cov --cov-report=
	@echo "The kernels once more, not compiled, so that coverage sees their lines:"
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n auto --dist worksteal --cov --cov-append --cov-report=term --cov-fail-under=95 tests/kernels tests/policies

lint: .venv/for-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports

# Once, beside the checks above, instead of in every worker of the tests.
compiled: .venv/for-test
	$(BIN)/thrifty warmup

docs: .venv/for-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site
	@echo "The pages are built: open site/index.html."

wheel: .venv/for-run
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

bench: .venv/for-bench
	$(BIN)/python -m benchmarks $(ARGS)

.venv/for-run: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Thrifty needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --editable '.[figures,worth]'
	touch $@

.venv/for-test: .venv/for-run
	$(INSTALL) --editable '.[test]'
	touch $@

.venv/for-docs: .venv/for-run
	$(INSTALL) --editable '.[docs]'
	touch $@

.venv/for-bench: .venv/for-run
	$(INSTALL) --editable '.[bench]'
	touch $@

clean:
	rm -rf .venv build dist results site .coverage* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
