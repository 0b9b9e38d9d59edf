# Needs Go and make, no more; “long” also a C compiler, for the race detector.
#
# staticcheck is a tool dependency in go.mod: its version is fixed and checksummed like
# that of a library, everybody runs the same, and nothing is installed.

GO        ?= go
FUZZTIME  ?= 60s
BENCH     ?= .
TESTFLAGS ?=

.PHONY: help build demo test bench fuzz long models policies large clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' Makefile

build: ## build the command, ./bin/fuzzsafe
	$(GO) build -o bin/fuzzsafe ./cmd/fuzzsafe

demo: build ## find the faults of a policy in an embedded instance
	./bin/fuzzsafe run bench:one-way-line-nondet --exit-zero

test: ## all that CI asks for: gofmt, vet, staticcheck, all tests
	@files=$$("$$($(GO) env GOROOT)/bin/gofmt" -l .); if [ -n "$$files" ]; then echo "not formatted: $$files"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test $(TESTFLAGS) ./...

bench: ## run the benchmarks, or those that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

fuzz: ## run every fuzz target for FUZZTIME (60s)
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

long: test ## longer checks: race detector, deciders and certificates on 100,000 systems, 5 minutes per fuzz target
	$(GO) test -race -timeout 60m ./...
	FUZZSAFE_SEEDS=0-100000 $(GO) test -timeout 60m -v -run TestDecidersAgreeWithFixpoint ./algorithms
	FUZZSAFE_SYSTEMS=100000 $(GO) test -timeout 60m -run TestRandomSystems ./jani/certificate
	$(MAKE) fuzz FUZZTIME=5m

models: ## draw the models in nnpolicy/testdata anew (needs python3-torch, -onnx, -xgboost, -sklearn)
	/usr/bin/python3 nnpolicy/testdata/make_models.py

policies: ## train the learned policies in benchmarks/instances anew, two at a time
	$(GO) test -timeout 3h -parallel 2 -count 1 -v -run '^TestPolicies$$' ./cmd/fuzzsafe -policies

large: ## train policies for the larger instances of the suite into ./policies, for hours
	$(GO) test -timeout 72h -parallel 2 -count 1 -v -run '^TestLargePolicies$$' ./cmd/fuzzsafe -large $(CURDIR)/policies

clean: ## remove what was built
	rm -rf bin policies
