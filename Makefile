# Everything starts here: `make help` lists the targets. Only git, make and Python with pip are needed.
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
VENV := .venv/bin
RUN := $(UV) run --frozen --no-sync
# Much of a run is waiting. A debugger needs a single process: make test PARALLEL= ARGS=--pdb
PARALLEL ?= --numprocesses=3
# Where it is set, every process would compile all of Python anew: a second of each start.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.uv/bin/uv:
	@echo "Installing uv into .uv/ …"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --upgrade --target .uv uv

.PHONY: setup
setup: .venv/.synced ## Create .venv from the lock file

.venv/.synced: pyproject.toml client/pyproject.toml uv.lock $(filter .uv/%,$(UV))
	@echo "Setting up .venv from uv.lock …"
	@$(UV) sync --frozen --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')"
	@touch $@

.PHONY: up
up: setup ## Run the whole service on embedded parts; Ctrl-C stops it
	@exec $(VENV)/memstream up

.PHONY: test
test: setup ## Run every test (CI=true: a missing part fails instead of skipping)
	@$(VENV)/python -m pytest $(PARALLEL) $(ARGS)

.PHONY: check
check: setup ## Lint, types and import layers
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy
	@$(VENV)/lint-imports

.PHONY: format
format: setup ## Format the code and fix what can be fixed
	@$(VENV)/ruff check --fix .
	@$(VENV)/ruff format .

.PHONY: generate
generate: setup ## Generate schemas, asyncapi.yaml, the dashboard, docs/reference.md and docs/requirements.md
	@$(VENV)/python -m topics.generate
	@$(VENV)/python -m docs.generate
	@$(VENV)/python deploy/grafana/generate.py
	@$(VENV)/python -m tests.trace

.PHONY: docs
docs: setup ## Build the documents as a site in site/; a warning is an error
	@NO_MKDOCS_2_WARNING=true $(VENV)/mkdocs build --strict --quiet
	@echo "site/index.html"

.PHONY: kafka
kafka: setup ## Run a real single-node Apache Kafka (needs java 17 and mvn)
	@exec $(VENV)/python -m memstream.embedded.kafka --port 9092

.PHONY: demo
demo: setup ## Run the service with three tenants' memories and a stream of searches
	@exec $(VENV)/python -m memstream.demo

.PHONY: bench
bench: setup ## Measure, peers too; writes bench/results, prints ratios (ARGS=--quick: less of it)
	@$(UV) sync --frozen --group peers --quiet
	@$(VENV)/python -m bench.thin_path
	@$(VENV)/python -m bench.search $(ARGS)
	@$(VENV)/python -m bench.decomposition $(ARGS)
	@$(VENV)/python -m bench.learning_cost
	@$(VENV)/python -m bench.learning $(ARGS)
	@$(VENV)/python -m bench.join $(filter --quick,$(ARGS))

.PHONY: soak
soak: setup ## Run the reliability tests much longer than the suite does
	@MEMSTREAM_SOAK=1 $(VENV)/python -m pytest tests/acceptance/test_scaling.py tests/acceptance/test_lifecycle.py tests/acceptance/test_decomposition.py tests/acceptance/test_join.py -k "lost or dead or label" $(ARGS)

.PHONY: clean
clean: ## Remove the environment, state and caches
	rm -rf .venv .uv .memstream .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
