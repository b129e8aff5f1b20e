# Two commands do everything, each on a fresh clone: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are first imported: most of what is installed never is.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
unexport PYTHONDONTWRITEBYTECODE
export OMP_WAIT_POLICY ?= passive

.PHONY: demo test lint docs clean browser

demo: .venv/installed
	$(BIN)/regard demo

# One worker more than two cores have: tests wait for processes and browsers that they start.
test: .venv/ready-for-tests lint browser
	$(BIN)/python -m pytest -n 3 --dist worksteal

# The tests of the page drive a chromium. It is installed where that may be done without asking; elsewhere they are skipped.
APT = DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq -o Acquire::Retries=0 -o DPkg::Lock::Timeout=60
CHROMIUM = $(APT) install --no-install-recommends --yes chromium
browser:
	@found() { command -v chromium || command -v chromium-browser; }; \
	if ! found && [ "$$(id -u)" = 0 ] && command -v apt-get; then \
	    $(CHROMIUM) || { $(APT) update && $(CHROMIUM); }; \
	fi >/dev/null 2>&1 </dev/null; \
	found >/dev/null || echo "no chromium here: the tests of the page will be skipped (apt install chromium)"

lint: .venv/ready-for-tests
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: .venv/ready-for-docs
	$(BIN)/mkdocs build --quiet
	@echo "open build/site/index.html"

# torch is asked for by its exact version first, so that nothing else can bring another build of it.
.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[all]'
	touch $@

.venv/ready-for-tests: .venv/installed
	$(PIP) --editable '.[dev]'
	touch $@

.venv/ready-for-docs: .venv/installed
	$(PIP) --editable '.[docs]'
	touch $@

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
