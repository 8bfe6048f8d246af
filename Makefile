# Two commands: `make demo` audits a sample pair, `make test` passes the tests.
# Each sets up what it needs in .venv; only Python >= 3.11 and make must be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Marks of what .venv holds: what the program needs; also its extras, and what its tests need.
PROGRAM := $(VENV)/.program
READY := $(VENV)/.ready
# A private table and its synthetic copy.
PAIR := samples/census_private.parquet samples/census_synthetic.parquet

.PHONY: demo install test check pytest test-thorough test-browser golden fuzz format lock samples tables notebook architecture pictures browser docs benchmark paper experiments quality clean

demo: $(PROGRAM)
	$(BIN)/pqd profile $(PAIR)
	@echo
	$(BIN)/pqd audit $(PAIR) --tau 10% --epsilon 0.25 \
	  -q "SELECT COUNT(*) FROM D WHERE sex LIKE 'Female' AND workly LIKE 'Yes'"

# The program with its extras, and what its tests need.
install: $(READY)

# Two jobs at a time, since mypy alone would leave all processors but one idle.
test: $(READY)
	+$(MAKE) --no-print-directory --jobs 2 check pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Sets are ordered the same in every run; a fuzz orders them anew.  A test that takes long is not
# waited for: whoever is idle takes over what else waits behind it.  A product of matrices takes one
# thread, since all processors are busy.  Modules are compiled once, not in every process of a test.
RUN_TESTS := PYTHONHASHSEED=0 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -q
pytest: $(READY)
	$(RUN_TESTS) -n auto --dist worksteal -m "not browser and not thorough"
	@echo "Not run: make test-thorough, and the pages in a browser, make test-browser."

# What takes long: simulations, fuzzing, kills, every way to cut a table, builds of the package.
test-thorough: $(READY)
	$(RUN_TESTS) -n auto --dist worksteal -m thorough

# The pages of reports in Chromium; make browser installs what drives it.
test-browser: $(READY)
	$(RUN_TESTS) -n auto --dist worksteal -m browser tests/browser

# Writes the texts anew that tests compare with golden files; read what changed in the diff.
golden: $(READY)
	PYTHONHASHSEED=0 PQD_GOLDEN=write $(BIN)/pytest -q -m golden

# Random inputs, TIMES as many as in a test run, whose inputs are always the same.  What it finds
# is printed: add it to its test as an @example, so that every test run tries it from then on.
TIMES ?= 100
fuzz: $(READY)
	PQD_FUZZ=$(TIMES) $(BIN)/pytest -n auto -q -m hypothesis --hypothesis-profile fuzz

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Writes the locks again from pyproject.toml, with hashes and for every platform: what tests need,
# the part of it that the program needs with all of its extras, and without.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate pyproject.toml
lock: $(READY)
	$(BIN)/pip install --quiet uv
	$(COMPILE) --all-extras --group dev -o requirements.lock
	$(COMPILE) --all-extras --group build --constraint requirements.lock -o requirements-run.lock
	$(COMPILE) --group build --constraint requirements.lock -o requirements-base.lock

samples: $(READY)
	$(BIN)/python samples/make.py all

tables: $(READY)
	$(BIN)/python docs/make_tables.py

notebook: $(READY)
	$(BIN)/python docs/make_notebook.py

architecture: $(READY)
	$(BIN)/python docs/make_architecture.py

pictures: $(READY)
	$(BIN)/python docs/make_pictures.py

# What drives the pages in a browser, for tests/browser; Chromium and Node must be there.
BROWSER := $(VENV)/browser
browser: $(READY)
	npm install --no-save --no-audit --no-fund --loglevel error --prefix $(BROWSER) playwright-core@1.65.1 axe-core@4.14.1

# The site of the documents, in build/site; whatever is to be warned of is an error.
docs: $(READY)
	$(BIN)/python docs/make_site.py

# Beside programs in an environment of their own; what cannot be installed there is left out.
OTHERS := $(VENV)/others
benchmark: $(READY)
	-$(PYTHON) -m venv $(OTHERS) && $(OTHERS)/bin/python -m pip install --quiet -r benchmarks/others.txt
	$(BIN)/python benchmarks/audit_time.py --others $(OTHERS)/bin/python $(BENCHMARK)

# The figures, tables and claims of the three papers, in docs/papers.md.  DATA: the folder of real
# tables; QUICK=1: small, into build; TIMES=1: also records the seconds.
paper: $(READY)
	$(if $(QUICK),mkdir -p build/quick)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.paper $(if $(DATA),--data $(DATA)) \
	  $(if $(QUICK),--quick --out build/quick) $(if $(TIMES),--times)

# The pictures and pages of docs/experiments, from the CSV files that the benchmarks write there.
experiments: $(READY)
	$(BIN)/python -m benchmarks.experiments

# The benchmark of verdict quality, in docs/quality.md.  DATA: the folder of real tables; QUICK=1:
# small, into build.
QUALITY := build/$(if $(QUICK),quick,quality)
quality: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality run --out $(QUALITY)/results.csv \
	  $(if $(DATA),--data $(DATA)) $(if $(QUICK),--queries 6 --seeds 1)
	$(BIN)/python -m benchmarks.quality page $(QUALITY)/results.csv $(if $(QUICK),--out build/quick)

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis

# --no-build-isolation: the build backend is in the lock too, so nothing unpinned is fetched.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(PROGRAM): requirements-base.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pqd needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --require-hashes -r requirements-base.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	touch $@

$(READY): $(PROGRAM) requirements.lock
	$(INSTALL) --require-hashes -r requirements.lock
	touch $@
