# SPDX-License-Identifier: Apache-2.0
# The front door. Meson does the work; `make help` lists what there is.

# The distribution's own tools: a python or meson first in PATH may lack the packages. They need not be there yet.
MESON   ?= /usr/bin/meson
PYTHON  ?= /usr/bin/python3
export NINJA ?= /usr/bin/ninja
PREFIX  ?= /usr/local
SECONDS ?= 60
MINUTES ?= 5
TESTS   ?=

.DEFAULT_GOAL := build
.PHONY: build demo test test-long test-arm test-frameworks style format generate fuzz torture coverage bench bench-peers wheel install clean help

build: build/release/build.ninja ## the library and the command, optimised, in build/release (the default)
	@echo "make: building leat in build/release"
	@$(NINJA) -C build/release product
	@if [ -x build/release/cli/leat ]; then echo "make: done; try build/release/cli/leat --help or make demo"; fi

build/release/build.ninja:
	@scripts/install-deps build
	@echo "make: configuring build/release"
	@$(MESON) setup build/release >/dev/null || { cat build/release/meson-logs/meson-log.txt; exit 1; }

demo: build ## installs what is missing, makes a practice set, packs it, and measures both; under two minutes
	@scripts/demo

test: ## installs what is missing, runs every test: release, address, undefined-behaviour and thread sanitizers, the command
	@scripts/install-deps
	@echo "make: building and running the tests (TESTS='-k PATTERN' for some of them)"
	@$(PYTHON) tests/run.py $(TESTS)

test-long: ## the tests that take long: more mutations, soak, plain C kernels
	@scripts/install-deps
	@echo "make: building and running the long tests"
	@$(PYTHON) tests/run.py --long --only long $(TESTS)

test-arm: ## builds for 64-bit ARM and runs kernel and unit tests, whole pipelines and the wheel there, by qemu: the same bytes as on x86
	@echo "make: building and testing for 64-bit ARM"
	@$(PYTHON) tests/run.py --only arm $(TESTS)

test-frameworks: ## feeds real TensorFlow, Keras, PyTorch, JAX and Ray; gets them into a virtual environment of their own first
	@scripts/install-deps
	@echo "make: testing with real frameworks"
	@$(PYTHON) tests/run.py --only frameworks $(TESTS)

style: build ## the rules of the house: who includes whom, what lives where, formatting
	@scripts/install-deps
	@echo "make: checking the rules of the house"
	@$(PYTHON) scripts/check_rooms.py

format: ## formats all C files in place
	@echo "make: formatting all C files"
	@$(PYTHON) scripts/check_rooms.py --list-c | xargs -r $(firstword $(wildcard /usr/bin/clang-format-14) clang-format) -i

generate: build/release/build.ninja ## writes every generated file anew: lists of files, Python methods, tables of the docs, the binary interface
	@echo "make: writing generated files"
	@$(PYTHON) scripts/sources.py --write
	@$(NINJA) -C build/release --quiet cli/leat
	@$(PYTHON) scripts/python_ops.py --write
	@$(PYTHON) scripts/operations.py --write
	@$(PYTHON) scripts/dropin.py --write
	@$(PYTHON) scripts/abi.py --write
	@$(PYTHON) bench/peers/page.py --write

fuzz: ## looks for new bad inputs with libFuzzer, SECONDS=60 for each target
	@echo "make: fuzzing, $(SECONDS) s for each target"
	@scripts/fuzz $(SECONDS)

torture: ## everything that must not break leat, MINUTES=5 in all: failing disks, signals, kills, no memory, soak, fuzzing; prints a table
	@scripts/install-deps
	@echo "make: torture for $(MINUTES) minutes, without the time to build"
	@$(PYTHON) scripts/torture $(MINUTES)

coverage: ## which lines of src the tests run, by room; builds build/coverage and runs the unit, kernel, stress and command tests there
	@scripts/install-deps
	@$(PYTHON) scripts/coverage

bench: build ## measures the kernels and a whole pipeline on this machine
	@scripts/bench

bench-peers: build ## measures leat beside other loaders, which it installs in build/peers; PHOTOS=DIR WORKLOADS="jpeg png" ROUNDS=2 PEERS=all
	@scripts/install-deps build test peers
	@echo "make: measuring leat beside other loaders"
	@$(PYTHON) bench/peers/environment.py
	@$(PYTHON) bench/peers $(WORKLOADS) $(if $(PHOTOS),--photos $(PHOTOS)) $(if $(ROUNDS),--rounds $(ROUNDS))
	@$(PYTHON) bench/peers/page.py --write

wheel: ## a self-contained wheel of the Python package in dist/: codecs inside and hidden, for Python 3.11 and later
	@scripts/install-deps build
	@scripts/wheel

install: build ## installs into PREFIX=/usr/local (DESTDIR is honoured)
	@echo "make: installing into $(abspath $(PREFIX))"
	@$(MESON) configure build/release -Dprefix=$(abspath $(PREFIX))
	@$(NINJA) -C build/release --quiet product >/dev/null
	@$(MESON) install -C build/release --no-rebuild --quiet --tags bin,runtime,devel

clean: ## removes build/
	@echo "make: removing build/"
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
