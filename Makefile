# The only verbs. Continuous integration calls the same ones. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
# Continuous integration compiles another clone of the same commit (.ci/compiled.sh).
CARGO_DIR ?= collector-agent
RUST := cd $(CARGO_DIR) &&
WEB := cd frontend &&
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# One profile for tests and clippy, without debug information: half the time and a third of the disk.
export CARGO_PROFILE_DEV_DEBUG := 0
export CARGO_INCREMENTAL := 0
# Node.js and Rust that were brought because the machine has none that is recent enough (deploy/dev/bring-*.sh).
export PATH := $(CURDIR)/.build/node/bin:$(CURDIR)/.build/rust/bin:$(PATH)
PYTHON_PATHS := backend tests lab contract migrations conftest.py
# One more than the two cores of the smallest machine: tests with servers of their own wait for them.
PYTEST_PROCESSES ?= 3
PYTEST_ARGS ?=
LOGS := .build/logs
# What a test process compiles, others read: where this is set in the environment, each would compile all tests anew.
test-python test-long test-quick test-soak e2e: export PYTHONDONTWRITEBYTECODE :=
# Tests use the program that users get, and do not compile it again on the way.
WITH_AGENT := TIERSCOPE_AGENT_BINARY="$$(deploy/dev/compile.sh --print-agent)"

PYTHON_STAMP := $(VENV)/.installed
NODE_STAMP := frontend/node_modules/.installed
FRONTEND := frontend/dist/index.html
FRONTEND_SOURCES := $(shell find frontend/src frontend/public frontend/index.html frontend/*.json frontend/*.ts -type f -not -path '*/mock-api/*' 2>/dev/null)
SITE := docs/_site/index.html
SITE_SOURCES := $(shell find docs deploy/site README.md ARCHITECTURE.md CONTRIBUTING.md -type f -not -path 'docs/_site/*' 2>/dev/null)

.PHONY: help setup service agent simcore docs up down demo test test-long test-python test-rust test-web test-quick closing nightly lint fmt e2e bench faults attack truth validation corpus applied gen record-answers clean fuzz fuzz-api sbom test-soak dist dist-proof bare-proof release-check

help: ## List the verbs
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-13s %s\n", $$1, $$2}'

setup: service agent ## Install everything into the checkout: Python, the dashboard, the agent, the compiled core

service: $(PYTHON_STAMP) $(FRONTEND) $(SITE) ## Install what the service needs: Python packages, the built dashboard and documentation

$(PYTHON_STAMP): requirements.lock pyproject.toml deploy/dev/install-python.sh
	@deploy/dev/install-python.sh
	@touch $@

$(NODE_STAMP): frontend/package-lock.json frontend/package.json
	@deploy/dev/check-tools.sh node
	$(WEB) npm ci --prefer-offline --no-audit --no-fund
	@touch $@

$(FRONTEND): $(NODE_STAMP) $(FRONTEND_SOURCES)
	$(WEB) npm run build
	@touch $@

# Cargo knows what has changed.
agent: $(PYTHON_STAMP) ## Compile the agent and the simulator core
	@deploy/dev/compile.sh

simcore: agent ## The same

up: ## Start everything on this host; Ctrl-C stops it. ARGS=--detach keeps it running
	@deploy/dev/up.sh $(ARGS)

demo: ## The same with a simulated fleet of 33 hosts, apart from real data
	@deploy/dev/up.sh --demo $(ARGS)

docs: $(SITE) ## Build the documentation site, which the service serves at /docs

$(SITE): $(PYTHON_STAMP) $(SITE_SOURCES)
	@$(BIN)/python deploy/site/build.py

down: ## Stop what `make up` and `make demo` started
	@if [ -x $(BIN)/tierscope ]; then $(BIN)/tierscope down; else echo "Nothing was running."; fi

test: $(PYTHON_STAMP) $(FRONTEND) ## Run the tests: Rust, Python with servers and browser, dashboard
	@deploy/dev/test.sh

test-long: $(PYTHON_STAMP) $(FRONTEND) agent ## Run the long cases that `make test` leaves out; continuous integration runs both
	@$(WITH_AGENT) PYTEST_PROCESSES=$(PYTEST_PROCESSES) deploy/dev/test-long.sh $(PYTEST_ARGS)

# What needs no server, no browser and no programs but its own.
QUICK := tests/domain tests/wire tests/contract

test-quick: $(PYTHON_STAMP) $(NODE_STAMP) simcore ## Run what answers within two minutes once compiled: no servers, no browser
	@deploy/dev/check-tools.sh rust
	$(RUST) cargo test --workspace --locked --quiet --lib --bins
	$(BIN)/python -m pytest -q -n $(PYTEST_PROCESSES) --dist loadscope -m "not slow and not rates" $(QUICK) $(PYTEST_ARGS)
	$(WEB) npm test -- --project functions --reporter=dot

nightly: service simcore ## Run property tests with a new seed and more examples, then make and prove a release; SEED=1
	@deploy/dev/check-tools.sh rust
	@deploy/dev/nightly.sh

closing: $(PYTHON_STAMP) ## Name what failed in the last `make test` and `make test-long`, with its output, and run it once more alone
	@$(WITH_AGENT) $(BIN)/python lab/workshop/closing.py $(LOGS)

test-rust: $(PYTHON_STAMP) ## Run the Rust tests
	@deploy/dev/check-tools.sh rust
	@mkdir -p $(LOGS)
	$(RUST) cargo test --workspace --locked --no-fail-fast 2>&1 | tee $(CURDIR)/$(LOGS)/rust.log

test-web: $(NODE_STAMP) ## Run the dashboard's tests
	@mkdir -p $(LOGS)
	$(WEB) npm test -- --reporter=default --reporter=json --outputFile.json=../$(LOGS)/web.json 2>&1 | tee ../$(LOGS)/web.log

test-python: $(PYTHON_STAMP) $(FRONTEND) agent ## Run the Python tests, end to end ones too
	@mkdir -p $(LOGS)
	$(WITH_AGENT) $(BIN)/python -m pytest -n $(PYTEST_PROCESSES) --dist loadscope --failures=$(LOGS)/python.jsonl $(PYTEST_ARGS) 2>&1 | tee $(LOGS)/python.log

test-soak: $(PYTHON_STAMP) $(FRONTEND) agent ## Run the Python tests at four awkward times, shuffled, on busy cores; ARGS="midnight --seed 1"
	$(WITH_AGENT) $(BIN)/python lab/workshop/soak.py $(ARGS)

sbom: $(PYTHON_STAMP) $(NODE_STAMP) ## Write SBOMs and the report of licences to .build/sbom; fails on a licence that may not be shipped
	@deploy/dev/check-tools.sh rust
	$(BIN)/python deploy/sbom/sbom.py

dist: service ## Make what a release consists of, in .build/dist; ARGS="wheels" selects parts
	@deploy/dist/dist.sh $(ARGS)

bare-proof: $(PYTHON_STAMP) ## Run `make up` on the last commit without root on bare Debian 12 and 13, and build images of it; ARGS="up-trixie"
	@PYTHONPATH=lab:tests $(BIN)/python -m proofs $(or $(ARGS),up-bookworm up-trixie up-images)

dist-proof: $(PYTHON_STAMP) ## Install, start, ask and remove what `make dist` made, on bare roots; ARGS="wheels"
	@PYTHONPATH=lab:tests $(BIN)/python -m proofs $(ARGS)

release-check: $(PYTHON_STAMP) ## Go through the checklist of a release; ARGS=--full runs linters and tests too
	@$(BIN)/python deploy/release/check.py $(ARGS)

fuzz: $(PYTHON_STAMP) simcore ## Feed changed bodies to each reader of the service; ARGS="batch_bounds --seconds 600"
	PYTHONPATH=tests $(BIN)/python -m fuzz $(ARGS)

fuzz-api: $(PYTHON_STAMP) simcore ## Ask every operation of the API with many more generated requests; EXAMPLES=200 of each
	seed=$$RANDOM; echo "seed $$seed"; TIERSCOPE_FUZZ_EXAMPLES=$${EXAMPLES:-100} $(BIN)/python -m pytest -n $(PYTEST_PROCESSES) --hypothesis-seed=$$seed tests/api/test_properties.py $(PYTEST_ARGS)

e2e: $(PYTHON_STAMP) $(FRONTEND) agent ## Run the browser tests alone, and judge each page in both themes
	$(WITH_AGENT) $(BIN)/python -m pytest tests/e2e --elsewhere $(PYTEST_ARGS)

lint: $(PYTHON_STAMP) $(NODE_STAMP) ## Run all linters, type checks and the checks of layers and generated files
	@deploy/dev/lint.sh

fmt: $(PYTHON_STAMP) ## Format everything
	$(BIN)/ruff check --fix --quiet $(PYTHON_PATHS) || true
	$(BIN)/ruff format $(PYTHON_PATHS)
	$(RUST) cargo fmt --all

gen: $(PYTHON_STAMP) $(NODE_STAMP) ## Regenerate code and documents from the contract
	$(BIN)/python contract/gen.py
	$(WEB) npm run --silent gen

record-answers: $(PYTHON_STAMP) $(NODE_STAMP) simcore ## Record answers of a populated installation for specs of the dashboard
	$(BIN)/python -m pytest -q tests/api/record_answers.py
	$(WEB) npx prettier --write --log-level warn src/mock-api/answers

bench: $(PYTHON_STAMP) simcore ## Measure against references in the same run; see docs/benchmarks.md
	@deploy/dev/build-agent.sh
	agent=$$(deploy/dev/build-agent.sh --print-path); \
	PYTHONPATH=lab:tests TIERSCOPE_AGENT_BINARY="$$agent" $(BIN)/python -m bench --agent "$$agent" $(ARGS)

faults: $(PYTHON_STAMP) agent ## Kill, cut, fill and overload the real processes; ARGS="--rounds 3"; writes docs/faults.md
	PYTHONPATH=lab:tests $(WITH_AGENT) $(BIN)/python -m faults $(ARGS)

attack: $(PYTHON_STAMP) agent ## Attack an instance of its own, watched all the time; ARGS="--rounds 3 --record"
	PYTHONPATH=lab:tests $(WITH_AGENT) $(BIN)/python -m attack $(ARGS)

truth: $(PYTHON_STAMP) agent ## Judge the answers on fleets whose truth is known; ARGS="--laws small --seed 7"; see docs/truth.md
	PYTHONPATH=lab:tests $(WITH_AGENT) $(BIN)/python -m truth $(ARGS)

validation: $(PYTHON_STAMP) simcore ## Replay papers and recorded kernels in the simulator; writes docs/validation.md. ARGS="--recording FILE" judges one alone
	PYTHONPATH=lab:tests $(BIN)/python -m validation $(ARGS)

corpus: $(PYTHON_STAMP) ## Record kernels with two memory tiers in an emulated guest, what the corpus lacks. ARGS=--plan lists it
	PYTHONPATH=lab:tests $(BIN)/python -m corpus $(ARGS)

applied: agent ## Apply advice to kernels with two memory tiers in an emulated guest, and take it back
	PYTHONPATH=lab:tests $(BIN)/python -m applied --agent "$$(deploy/dev/compile.sh --print-agent)" $(ARGS)

clean: down ## Remove what was built; data of instances stays
	rm -rf $(VENV) .build frontend/node_modules frontend/dist collector-agent/target
