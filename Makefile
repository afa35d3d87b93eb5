# Two commands: make study, make test.  Both set up .venv first.
STUDY ?= sample
CORES ?= 2
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
export STUDY CORES
BIN := .venv/bin
PIP = $(BIN)/pip -qq --disable-pip-version-check

.PHONY: setup study test types lab bench docs

study: setup  ## train what is missing, run the notebooks, write reports/$(STUDY)/index.html
	$(BIN)/as2 study "$$STUDY" --cores "$$CORES"

test: setup  ## lint, check the format, unit tests
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder $(TESTS)

types: setup  ## the types of losses and metrics, whose functions others call
	@test -e work/types/bin/mypy || { $(PYTHON) -m venv work/types && work/types/bin/pip install -qq --disable-pip-version-check mypy==2.4.1; }
	work/types/bin/mypy --python-executable $(BIN)/python

lab: setup  ## the notebooks, to read and to change
	$(BIN)/jupyter lab notebooks

bench: setup  ## the claims of speed, measured
	-@$(BIN)/pip install -qq --disable-pip-version-check --no-deps -r bench/requirements.txt
	$(BIN)/python -m bench

docs: work/docs/bin/mkdocs  ## the pages of docs/, in work/site
	NO_MKDOCS_2_WARNING=1 work/docs/bin/mkdocs build --quiet

work/docs/bin/mkdocs: docs/requirements.txt
	@$(PYTHON) -m venv --clear work/docs
	@work/docs/bin/pip install -qq --disable-pip-version-check -r docs/requirements.txt

setup: .venv/ready

# torch comes first and from its file alone: given its hashes, pip would take an index's wheel before one that lies here.
.venv/ready: requirements.lock requirements.cuda.lock pyproject.toml
	@command -v "$(PYTHON)" >/dev/null || { echo "expected Python 3.11 to 3.13, found none: install one, or make … PYTHON=…"; exit 1; }
	@echo "setting up .venv (once, a few minutes)"
	@if [ -L .venv ] || { [ -e .venv ] && [ ! -e .venv/torch.lock ]; }; then \
		echo "expected no .venv, or the one that make set up, got another: move it away, or rm -r .venv"; exit 1; fi
	@$(PYTHON) -m venv --clear .venv
	@sed -n '/^torch==/,/[^\\]$$/p' requirements.lock > .venv/torch.lock
	@$(PIP) download --no-deps -d .venv/wheels "$$(sed -n 's/^\(torch==[^ ]*\).*/\1/p' .venv/torch.lock)"
	@$(PIP) install --no-deps --no-index --find-links .venv/wheels -r .venv/torch.lock && rm -r .venv/wheels
	@$(PIP) install --no-deps -r requirements.lock
	@$(BIN)/pip check >/dev/null || $(PIP) install --no-deps -r requirements.cuda.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@if [ -e .git ]; then $(BIN)/pre-commit install >/dev/null || true; fi
	@touch $@
