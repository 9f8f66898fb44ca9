# Two commands for a machine with nothing but Python and a compiler:
#
#   make demo [SECONDS=30]    simulated robot and node; Ctrl-C ends it
#   make test                 all tests
#
# Both first make .venv, which holds ROS 2, the model's libraries and this package. On a robot
# with its own ROS 2 use colcon instead (README.md).
#
#   PYTHON=python3.12         take this interpreter instead of the first one found

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
EXTRAS := torch,checkpoints,images,bags,sim,kinematics,bench,test
PYTHON ?=
SECONDS ?=
PYTEST_ARGS ?=

# Everything below runs in .venv, so a sourced ROS 2 must not mix with the one in there.
unexport AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH PYTHONPATH PYTHONHOME
# Set by the ROS 2 wheels of another environment, if make was started from one.
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE

INTERFACES := $(wildcard msg/*.msg srv/*.srv action/*.action)
BUILD_FILES := CMakeLists.txt package.xml setup.py pyproject.toml $(wildcard cmake/*)
# The commands in .venv/bin run the installed copy, so a change of any of these installs again.
INSTALLED := $(shell find oxygen_ros -type f -not -name '*.pyc') $(wildcard scripts/oxygen* \
	launch/* config/*.yaml config/*/* checkpoints/*/*)

.PHONY: help demo test lint clean setup

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

demo: setup
	@$(BIN)/python -m oxygen_ros demo $(if $(SECONDS),--seconds $(SECONDS))

test: setup lint
	@$(BIN)/python scripts/run_tests.py -rs $(PYTEST_ARGS)

lint: $(VENV)/.installed
	@$(BIN)/ruff check .

setup: $(VENV)/.installed $(VENV)/.rendering

clean:
	rm -rf $(VENV) build install log *.egg-info

$(VENV)/.made: scripts/find_python
	@command -v c++ >/dev/null || { echo 'no C++ compiler; run: sudo apt install g++' >&2; exit 1; }
	@python=$$(scripts/find_python "$(PYTHON)") && echo "making $(VENV) with $$python" && \
	    $$python -m venv --clear $(VENV)
	@$(BIN)/pip install --quiet --upgrade 'pip>=24'
	@touch $@

$(VENV)/.ros: $(VENV)/.made requirements-ros.txt constraints.txt cmake/build-wheels.txt
	@echo 'installing ROS 2 into $(VENV)'
	@$(BIN)/pip install --quiet -c constraints.txt -r requirements-ros.txt
	@touch $@

$(VENV)/.installed: $(VENV)/.ros $(INTERFACES) $(BUILD_FILES) $(INSTALLED)
	@echo 'installing libraries, compiling the messages: about a minute, more the first time'
	@$(BIN)/pip install --quiet -c constraints.txt --no-build-isolation '.[$(EXTRAS)]'
	@touch $@

$(VENV)/.rendering: $(VENV)/.installed scripts/install_rendering
	@scripts/install_rendering $(BIN)/python
	@touch $@
