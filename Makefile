# Two targets do everything on a fresh machine; each sets up what it needs first.
.DEFAULT_GOAL := help
.PHONY: help rehearse test check setup golden lock bench soak clean

ARGS ?=
FAULTS ?= 100

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

rehearse: ## Rehearse the cluster on this machine: deploy, train, lose a node, recover, destroy
	@scripts/setup rehearse
	@scripts/rehearse $(ARGS)

test: ## Run every check and test
	@scripts/setup test
	@scripts/check
	@scripts/test $(ARGS)

check: ## Lint and type-check only
	@scripts/setup test
	@scripts/check

setup: ## Set up .venv, the cdk command and the rehearsal's root file system, and nothing else
	@scripts/setup test
	@echo "setup: done; next: . .venv/bin/activate, then unbroken --help"

golden: ## Accept changed golden templates and pages (look at the diff before committing it)
	@scripts/setup laptop
	@.venv/bin/python -m tests.synth.accept $(ARGS)

lock: ## Re-pin requirements/*.txt from pyproject.toml (needs uv)
	@scripts/lock

bench: ## Print the speed figures of the README, measured in one run
	@scripts/setup rehearse
	@.venv/bin/python -m benchmarks.run $(ARGS)

soak: ## Break a small training job at random FAULTS times (100); each must end on the undisturbed run's curve
	@scripts/setup test
	@.venv/bin/python -m tests.training.soak --faults $(FAULTS) $(if $(SEED),--seed $(SEED))

clean: ## Remove build outputs (not .venv, not the cached root file system)
	@rm -rf cdk.out out .mypy_cache .ruff_cache .pytest_cache
