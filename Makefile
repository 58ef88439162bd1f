# Every target is a step of .ci/run, by name: `make test`, `make lint race`. `make` alone lists them.
.DEFAULT_GOAL := help

help:
	@.ci/run --list

all:
	.ci/run

%: FORCE
	.ci/run $@

.PHONY: help all FORCE
FORCE:
Makefile: ;
