# The project's commands. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help probe setup setup-test setup-bench setup-conformance setup-container setup-aarch64 setup-boards demo test test-long test-module soak type-tests conformance deny check-aarch64 test-aarch64 bench bench-hosts container module boards quorum fuzz fuzz-calls clean

# The shim is an image for other programs, built by the build script of `runtime`: never here.
CRATES := -p vtime -p terminal -p os -p settings -p remote -p report-kit -p probe -p iec61850 -p mms -p random -p quorum -p protection -p substation -p realtime -p ied -p relay \
	-p domain -p hosts -p signal-bus -p runtime -p network -p plant -p scenario -p results -p readiness -p latency -p type-tests -p wired-or -p testbed
PYTHON := .venv/bin/python
# A target whose programs need no loader, so that a container holds the program alone.
MUSL := $(shell uname -m)-unknown-linux-musl
# Most tests wait most of the time: more of them at once than there are processors.
cargo_test = PATH="$$PWD/.venv/bin:$$PATH" RUST_TEST_THREADS=$$((2 * $$(nproc))) \
	cargo test --locked --no-fail-fast $(CRATES)
# The tests that `make test-aarch64` runs; empty: all of tests/exec.
TESTS ?=
# Which random calls `make fuzz-calls` makes: another seed, other calls; and how time passes meanwhile.
SEEDS ?= 1-1000
PACE ?= real
# What the bench compares native programs with; empty: `qcycle exec --`.
BENCH_PREFIX ?=
# `--page`: `make bench-hosts` draws its page and its picture as well.
PAGE ?=
# Options of `make boards`, such as BOARDS="--count 2 --clock-ppm 0,100"; `boards/boards.py --help` lists them.
BOARDS ?=
bench_prefix := $(if $(BENCH_PREFIX),--prefix '$(BENCH_PREFIX)')

help: ## list these commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | while IFS=$$'\t' read -r name what; do \
		printf 'make %-13s %s\n' "$$name" "$$what"; done

setup: ## install what the demo needs and is not there
	@tools/setup.sh demo

setup-test setup-bench setup-conformance setup-container setup-aarch64 setup-boards: setup-%:
	@tools/setup.sh $*

demo: setup ## run the voltage-stability case, normal and under attack, and draw the report
	cargo build --locked --release -p testbed
	tools/demo.sh

test: setup-test ## check format, lints, tests and documents, in minutes
	cargo fmt --all --check
	cargo clippy --locked $(CRATES) --all-targets -- -D warnings
	$(cargo_test)
	$(PYTHON) -W error::ResourceWarning -m unittest discover -s scenarios/voltage-stability
	$(PYTHON) -W error -m unittest discover -s scenarios/feeder-fault
	$(PYTHON) -W error -m unittest discover -s tools
	$(PYTHON) -W error -m unittest discover -s kernel/tests
	$(PYTHON) -W error -m unittest discover -s boards
	$(PYTHON) tools/tidy.py
	shellcheck tools/*.sh .ci/run
	shellcheck --shell sh tools/peers/*.sh tools/peers/programs/*.sh

test-long: setup-test ## check what takes longer: stations of relays, guests, random calls, mutants, AArch64
	$(cargo_test) -- --ignored
	for pace in skip events; do \
		QCYCLE_PACE=$$pace cargo test --locked -p testbed --test main -- --ignored conformance::; done
	$(PYTHON) -W error -m unittest discover -s scenarios/quorum
	$(PYTHON) -W error -m unittest discover -s scenarios/relay-load
	$(PYTHON) -W error -m unittest discover -s scenarios/resilient-feeder
	cargo test --locked $(CRATES) --bench decode --bench certificates --bench cyclictest \
		--bench pause --bench jumps --bench latency --bench engine --bench owed --bench hosts -- --tiny
	cargo test --locked $(CRATES) --bench clock -- --tiny $(bench_prefix)
	tools/mutants.py
	tools/aarch64.sh check

test-module: setup-test ## drive the kernel module over 10,000 rounds, with other kernels, and runs over boards, in guests: minutes
	$(PYTHON) -W error -m unittest discover -s kernel/tests -p 'long_*.py'
	cargo build --locked --release -p testbed -p wired-or
	$(PYTHON) -W error -m unittest discover -s boards -p 'long_*.py'

soak: setup-test ## verdicts beside load and hostile programs, other users, other systems: up to an hour
	cargo build --locked --release $(CRATES)
	$(PYTHON) -W error -m unittest discover -s tools/soak

type-tests: ## run all type tests after IEC 60255; writes a page with pictures
	cargo run --locked --release -p type-tests -- --cases 17000 --page docs/reference/type-tests.md --pictures ../images/type-tests

deny: ## check licences, sources and known vulnerabilities of what is depended on
	@tools/deny.sh

check-aarch64: setup-aarch64 ## check that all compiles for boards with an AArch64 processor
	tools/aarch64.sh check

test-aarch64: setup-aarch64 ## run the guest programs on an emulated AArch64 board; TESTS=names
	tools/aarch64.sh test $(TESTS)

fuzz-calls: setup-test ## make random calls natively and in virtual time; SEEDS=1-1000 PACE=real
	QCYCLE_FUZZ_SEEDS=$(SEEDS) QCYCLE_PACE=$(PACE) cargo test --locked -p testbed --test main conformance::fuzz -- --ignored --nocapture

bench: setup-bench ## compare programs in virtual time with native ones; writes target/bench.json
	cargo bench --locked $(CRATES) --bench decode --bench certificates --bench cyclictest \
		--bench pause --bench jumps --bench latency --bench engine --bench owed
	cargo bench --locked $(CRATES) --bench clock -- $(bench_prefix)

bench-hosts: setup-bench ## measure hosts that share virtual time, 20 minutes; PAGE=--page writes a page
	cargo bench --locked -p testbed --bench hosts -- $(PAGE)

conformance: setup-conformance ## run peers' own tests and programs in virtual time; LTPROOT=folder of LTP; writes a page
	cargo build --locked --release -p testbed
	PYTHONPATH=tools $(PYTHON) -m peers --write-page

container: setup-container ## make OCI bundles of the programs on a process bus in target/container, without a registry
	cargo build --locked --release --target $(MUSL) -p relay --bins
	QCRELAY=$$PWD/target/$(MUSL)/release/qcrelay cargo test --locked -p relay --test main wiring::
	set -- $$(find target/$(MUSL)/release -maxdepth 1 -type f -executable); for binary; do \
		python3 tools/container.py --binary "$$binary" \
			--bundle "target/container/$${binary##*/}"; done

probe: ## build qcprobe as one static program, for remote machines and guests
	cargo rustc --locked --release --target $(MUSL) -p probe --bin qcprobe -- -C strip=symbols

module: ## build the kernel module qcbus against the headers of Debian's kernel, without installing these
	kernel/build.py

boards: setup setup-boards ## start four guests as boards, joined by GPIO and Ethernet, until Ctrl-C; BOARDS="--count 2"
	cargo build --locked --release -p testbed -p wired-or
	boards/boards.py $(BOARDS)

quorum: ## simulate 10^8 events of relays that act as one, half for safety, half for progress
	QUORUM_EVENTS=50000000 cargo test --locked --release -p quorum --test main sim:: -- --nocapture

fuzz: ## fuzz the decoders of frames, captures, datagrams, words of hosts and MMS for an hour
	tools/fuzz.sh

clean: ## remove what was built, installed here and recorded
	rm -rf target .venv runs
