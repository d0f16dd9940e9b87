# The front door for every task. `make help` lists them.
#
# `run` and `test` install what they need themselves (Debian packages by name, crates, PyPI and
# npm packages) and say what they do.

SHELL := /bin/bash
.DEFAULT_GOAL := help
LISTEN ?= 127.0.0.1:8090
DATA_DIR ?= $(CURDIR)/target/run-data
ARCH ?= $(shell uname -m)
# With all targets, so that dependencies have the features they have in `cargo test --workspace` and
# nothing is compiled twice.
build_programs = cargo build --locked --workspace --all-targets
run_stories = scripts/ignored-tests stories --
# Stories of `make stories` that `make test` has no time for: what a single node that is installed shows
# as well (boot from a CD, discovery, preparation), and what few changes touch (clocks, crashes, proxies).
long_stories = a_machine_with_a_stick_and_uefi_is_discovered_as_it_is \
  a_machine_finds_its_address_in_the_minimal_image_and_fetches_the_rest_with_it \
  an_installed_machine_runs_ignition_at_its_first_boot_only \
  a_machine_finds_its_address_in_the_full_image \
  a_machine_that_reaches_the_service_only_through_a_proxy_is_discovered \
  a_machine_with_a_cd_and_bios_is_discovered_as_it_is \
  a_machine_whose_clock_is_years_off_trusts_the_service_and_is_discovered \
  a_machine_outlives_a_crash_of_the_service_and_a_cut_cable \
  three_machines_become_a_cluster_whose_installation_begins \
  three_control_plane_nodes_and_a_worker_are_installed \
  only_the_chosen_disk_is_written \
  three_nodes_with_static_networks_install_themselves_from_one_image_and_a_mirror \
  a_node_that_boots_from_the_network_starts_over_after_a_reset_and_gets_a_worker \
  a_disk_that_fails_while_it_is_written_is_named_with_the_cause \
  the_image_of_an_agent_based_installation_is_rehearsed_as_it_is \
  a_machine_that_boots_the_live_image_is_the_service_until_its_cluster_is_installed \
  a_single_node_is_installed_though_its_registry_goes_away_and_it_boots_the_wrong_medium \
  the_package_installs_starts_upgrades_and_goes_under_systemd
service_story = a_single_node_is_installed_from_power_on_to_the_running_cluster
# Not yet seen green to their ends: by hand with `cargo test --workspace --test stories -- --ignored NAME`.
unfinished_stories = two_control_plane_nodes_and_an_arbiter_are_installed_and_a_control_plane_node_is_added \
  two_nodes_that_fence_each_other_are_installed
shell_scripts = git grep -lE '^\#!.*\b(ba|da)?sh\b' -- ':!crates/assets'

.PHONY: help run test check check-macos dist container container-image packages bench fmt lint unit api web web-tests docs recording boot agents testbed stories programs tools build release bless deny clean

help: ## List the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# With --workspace, so that what is run has the features of what was tested.
run: ## Build Muster, serve the API and show a simulated installation (LISTEN=…, DATA_DIR=…, NO_DEMO=1)
	@scripts/prepare build
	@echo "== building muster (the first time takes a few minutes)"
	@$(MAKE) --no-print-directory web
	cargo build --release --locked --workspace --bin muster
	@LISTEN="$(LISTEN)" DATA_DIR="$(DATA_DIR)" scripts/run

test: ## Everything that is checked before a change lands, with a table of what each part took
	@scripts/test

check: lint ## Formatting, lints and unit tests of what changed (BASE=origin/main): the inner loop
	scripts/unit --changed

lint: lint-text ## Formatting and lints of Rust, shell and Python
	cargo clippy --locked --workspace --all-targets -- -D warnings

# Scripts in crates/assets are parts of files that Muster makes; tests check the whole ones.
.PHONY: lint-text
lint-text:
	@scripts/prepare build lint
	cargo fmt --all --check
	@echo "shellcheck, ruff"
	@$(shell_scripts) | xargs shellcheck -x
	@tests/setup-venv
	@target/test-venv/bin/ruff check --quiet
	@target/test-venv/bin/ruff format --quiet --check

unit: tools ## Unit, property and store tests (SQLite and a real PostgreSQL), images against coreos-installer
	scripts/unit

api: programs ## Black-box tests with real clients: aicli, the Python client, schemathesis, kill -9
	tests/run-api

docs: programs ## Follow README and the pages of docs/ literally: every command is run
	tests/run-docs

recording: ## Record `make run` for README: docs/pictures/run.svg
	@scripts/prepare build
	cargo build --release --locked --workspace --bin muster
	scripts/record

boot: ## Start made images, and a machine to look at, in virtual machines (takes minutes)
	@scripts/prepare build test boot
	scripts/ignored-tests images guest

# After `agents`, which builds all that runs in it: two machines at a time, one per core.
testbed: machines ## Real machines boot our images and are discovered (builds their OS the first time; as root)
	$(run_stories) $(addprefix --skip ,$(service_story) $(long_stories) $(unfinished_stories))

.PHONY: service-story
service-story: machines # One more of `make test`, apart from the others because it takes as long as all of them
	$(run_stories) $(service_story)

stories: machines agents packages boot ## The same with the long stories that `make test` leaves out, a release made twice and the boot matrix
	$(run_stories) $(addprefix --skip ,$(unfinished_stories))

.PHONY: machines
machines: tools programs
	@scripts/prepare boot agents testbed
	scripts/build-static x86_64

programs: web
	@scripts/prepare build
	$(build_programs)

# Built from source or fetched once.
tools:
	@scripts/prepare build test
	@tests/setup-s3
	@tests/setup-crds
	@tests/setup-kube-apiserver
	@tests/setup-coreos-installer

web: ## The web page that muster embeds, in web/dist
	@scripts/prepare web
	@scripts/build-web

web-tests: programs ## Journeys through the web page in Chromium, with simulated hosts
	@scripts/prepare build test web
	scripts/test-web

bench: web ## Load figures against the reference's and nginx's, with ratios
	@scripts/prepare build agents web bench
	cargo build --release --locked --workspace --bin muster --bin muster-bench
	@MUSTER=target/release/muster node web/sizes.mjs
	target/release/muster-bench --muster target/release/muster
	PROFILE=small scripts/build-static --agents "$$(uname -m)"
	cargo bench --quiet --locked --workspace --bench refresh --bench view --bench inventory --bench agent \
	  --bench seed --bench extract --bench create
	scripts/bench-agent-image target/release/muster target
	scripts/bench-config-images target/release/muster

agents: programs ## Static muster-agent for x86_64 and aarch64 in target/agents
	@scripts/prepare build agents
	PROFILE=small scripts/build-static --agents x86_64 aarch64
	scripts/ignored-tests static_agents -- --skip the_service_of_aarch64

# Needs a few minutes for each architecture: the smallest programs take the longest to link.
dist: web ## Everything a release consists of, in target/dist: executables, container images, packages, checksums
	@scripts/prepare build agents
	PROFILE=small scripts/build-static x86_64 aarch64
	packaging/build --out target/dist

container: web ## The container images run under rootless podman: aicli, pods made for the reference (as root)
	@scripts/prepare build test agents container
	scripts/build-static x86_64
	tests/run-container

container-image: web ## A container image with a live ISO in it: OS_IMAGE=rhcos-live.iso OS_RELEASE=4.20 (ARCH=x86_64)
	@scripts/prepare build agents
	PROFILE=small scripts/build-static $(sort $(shell uname -m) $(ARCH))
	packaging/build --out target/dist --only container --os-image "$(OS_IMAGE)" --os-image-release "$(OS_RELEASE)" $(ARCH)

packages: web ## Packages install, start, upgrade and go on clean roots of Debian and rpm; a release twice (as root)
	@scripts/prepare build test agents packages
	scripts/build-static x86_64
	tests/run-packages
	ANY_SIZE=1 tests/run-dist

check-macos: ## Compile muster for macOS as far as that goes without Apple's SDK (fetches zig from PyPI)
	@scripts/prepare build lint
	scripts/check-macos

fmt: ## Format the code
	cargo fmt --all
	@tests/setup-venv
	@target/test-venv/bin/ruff format --quiet

build: ## Debug binaries
	cargo build --locked -p muster-cli -p muster-agent

release: web ## Optimised binaries in target/release
	cargo build --release --locked -p muster-cli -p muster-agent

bless: ## Rewrite documents made from code; review the diff
	BLESS=1 cargo test --quiet --locked -p muster-config -p muster-documents -p muster-assets -p muster-cli
	BLESS=1 cargo test --quiet --locked -p muster-agent --test machines
	BLESS=1 cargo test --quiet --locked -p muster-app --lib preparation
	cd web && BLESS=1 npm run --silent build

# Not part of `make lint`: cargo-deny takes longer to compile than all lints. Only advisories need a network.
deny: ## Licences, advisories and duplicate dependencies (installs cargo-deny)
	@command -v cargo-deny >/dev/null || cargo install --locked cargo-deny
	cargo deny --offline check bans licenses sources
	cargo deny check advisories

clean: ## Remove build results and the data of `make run`
	cargo clean
