# `make demo` answers a question on this machine; `make quick` tests a change; `make test` tests everything;
# `make test-all` adds the long proofs.

GO    ?= go
BIN   := bin/nearfar
FUZZ  ?= 30s
CHAOS ?= 1h
SIMULATE ?= 1000
PULLS ?= 200,0
PROVIDERS ?= azurerm google aws
# Where releases are published: https://HOST/OWNER/nearfar/releases. KEY is a file with the key that signs them.
PLACE ?=
KEY   ?=
# What scripts/test.sh runs: empty for what make test runs.
PARTS ?= tests
LIMIT ?= 5
# The HTML pages that the program embeds, and their sources.
PAGES := internal/show/page/dist/report.html
WEB   := $(shell find web -name node_modules -prune -o -type f -print) scripts/pages.sh

.PHONY: build program agents dist release home docs demo quick test test-all unit lint fuzz chaos simulate providers bench cloud-test clean

## build: the program, with the agents for other machines. Its HTML pages need npm (Node 20.19 or later); without npm the
## program has no pages.
build: agents
	$(MAKE) program

## program: the program, static and without symbols, with the agents only if they were made before.
program: $(PAGES)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(BIN) ./cmd/nearfar

## agents: nearfar-agent for other machines, compressed, for the program to embed.
agents:
	GO=$(GO) ./scripts/agents.sh

$(PAGES): $(WEB)
	./scripts/pages.sh

## types: the pages' types in TypeScript, web/src/data/types.ts, from Go's. They are committed; a test says if they are
## behind.
.PHONY: types
types:
	$(GO) test ./internal/kits/typescript -run '^TestTypesOfThePages$$' -update

## dist: static builds for linux/amd64, linux/arm64, windows/amd64, darwin/arm64 and darwin/amd64 in dist/, with
## SHA256SUMS.
dist: $(PAGES) agents
	GO=$(GO) ./scripts/dist.sh

## release: all that people install, in dist/vX.Y.Z: VERSION=X.Y.Z, and PLACE=https://HOST/OWNER/nearfar/releases, where it
## will be. docs/release.md has the rest.
release: $(PAGES)
	GO=$(GO) PLACE="$(PLACE)" KEY="$(KEY)" ./scripts/release.sh "$(VERSION)"

## home: renames the module, MODULE=HOST/OWNER/nearfar, so that `go install` finds it there.
home:
	GO=$(GO) ./scripts/home.sh "$(MODULE)"

## docs: the documentation as a static site in dist/site: it begins with index.html. Every link in it is checked.
docs:
	rm -rf dist/site
	GOFLAGS= $(GO) -C docs/site run . -root ../.. -out ../../dist/site

## demo: measures what routing, VXLAN and a firewall cost, on this machine. About three minutes.
demo:
	./scripts/install-tools.sh demo
	$(MAKE) program
	$(BIN) run labs/overlay/experiment.yaml

## quick: short tests of packages that do not measure, and the linter on what changed. With a warm cache, less than a
## minute after most changes.
quick: $(PAGES)
	GO=$(GO) ./scripts/quick.sh

## test: installs what the tests need, and runs the linter and the tests.
test:
	./scripts/install-tools.sh test
	$(MAKE) unit PARTS=

## test-all: test, and then the long proofs: simulations, what judges measured figures, the race detector, and the tests
## of scripts/long.txt.
test-all:
	./scripts/install-tools.sh test
	$(MAKE) unit PARTS=all

## unit: the tests of test, without the linter.
unit: $(PAGES) agents
	./scripts/pages.sh test
	GO=$(GO) ./scripts/test.sh $(PARTS)

## lint: the linter, on all packages.
lint:
	GO=$(GO) ./scripts/lint.sh

## fuzz: every fuzz target in turn, FUZZ=30s each.
fuzz:
	GO=$(GO) ./scripts/fuzz.sh $(FUZZ)

## chaos: kills, stops and cuts off processes of random small runs, in labs and on hosts with sshd and TLS agents, for
## CHAOS=1h or in CHAOS=200 rounds. A failed round prints how to repeat it.
chaos: $(PAGES)
	./scripts/install-tools.sh test
	NEARFAR_CHAOS=$(CHAOS) $(GO) test -count=1 -timeout 0 -run '^TestChaos$$' -v ./internal/e2e

## pull-requests: leads pull requests through their lives on a git server of this machine, PULLS=MEASURED,DRAWN of them
## without a change and a fifth as many with one, and says how often the gate was wrong.
.PHONY: pull-requests
pull-requests:
	NEARFAR_PULL_REQUESTS=$(PULLS) CGO_ENABLED=0 $(GO) test -trimpath -count=1 -timeout 0 -v -run '^TestPullRequest' ./ci

## simulate: draws runs from worlds whose truth is known, and prints how often answers are right: SIMULATE=1000 runs of
## each world. Takes long.
simulate:
	NEARFAR_SIMULATE=$(SIMULATE) CGO_ENABLED=0 $(GO) test -trimpath -count=1 -timeout 0 -v ./internal/kits/simulate

## providers: downloads the real providers of the labs, PROVIDERS="azurerm google aws", for the tests TestProviders...
## FROM=proxy builds those of scripts/providers.txt, which takes long.
providers:
	GO=$(GO) FROM=$(FROM) ./scripts/providers.sh $(PROVIDERS)

## bench: compares the native engine with sockperf, netperf, iperf3 and a short C loop, as ratios, checks the pacing of
## its loads, and counts allocations of the hot path. Writes bench/RESULTS.md. About eleven minutes; the machine should do
## nothing else. The newest iperf3 is fetched from Debian.
bench:
	./scripts/install-tools.sh test
	newest=$$(./scripts/newest-tools.sh) || newest=; $(GO) run ./bench --newest "$$newest"
	$(GO) test -run '^$$' -bench . -benchmem ./internal/onhost/engine/...

## cloud-test: makes the machines of a lab on a cloud of yours, measures, checks the answer, and deletes the machines.
## It costs money: PROVIDER=azure|aws|gcp, and LIMIT=5, the most that it may cost in US dollars. docs/cloud-test.md has
## LAB, PRICE, TIME and what you need.
cloud-test: build
	$(GO) build -trimpath -o bin/cloud-test ./realcloud
	bin/cloud-test -provider "$(PROVIDER)" -limit $(LIMIT) $(if $(LAB),-lab $(LAB)) $(if $(PRICE),-price $(PRICE)) \
		$(if $(TIME),-time $(TIME))

clean:
	rm -rf bin dist
