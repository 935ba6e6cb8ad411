# The habits of the project. `make demo` answers a question on this machine; `make test` runs every test.

GO    ?= go
BIN   := bin/nearfar
LINT  := bin/golangci-lint
FUZZ  ?= 30s
CHAOS ?= 1h
# The HTML pages that the program embeds, and what they are made of.
PAGES := internal/page/dist/report.html
WEB   := $(shell find web -name node_modules -prune -o -type f -print) scripts/pages.sh

.PHONY: build dist demo test unit lint fuzz chaos bench clean

## build: the program, with its HTML pages where npm (Node 20.19 or later) is there, and without them elsewhere.
build: $(PAGES)
	$(GO) build -trimpath -o $(BIN) ./cmd/nearfar

$(PAGES): $(WEB)
	./scripts/pages.sh

## dist: static builds for linux/amd64, linux/arm64, windows/amd64 and darwin/arm64 in dist/, with SHA256SUMS.
dist: $(PAGES)
	GO=$(GO) ./scripts/dist.sh

## demo: what routing, VXLAN and a firewall cost between two machines, measured here. About three minutes.
demo:
	./scripts/install-tools.sh demo
	$(MAKE) build
	$(BIN) run labs/overlay/experiment.yaml

## test: installs what the tests need, and runs them all.
test:
	./scripts/install-tools.sh test
	$(MAKE) lint unit

unit: $(PAGES)
	./scripts/pages.sh test
	$(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	./scripts/test.sh

# The linter is pinned in tools/go.mod and built once for each version.
lint: $(LINT)
	$(LINT) run ./...

$(LINT): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

## fuzz: every fuzz target in turn, FUZZ=30s each.
fuzz:
	./scripts/fuzz.sh $(FUZZ)

## chaos: kills and stops parts of random small runs for CHAOS=1h. What a failed round was is printed, with how to repeat it.
chaos: $(PAGES)
	./scripts/install-tools.sh test
	NEARFAR_CHAOS_TIME=$(CHAOS) $(GO) test -count=1 -timeout 0 -run '^TestChaos$$' -v ./internal/e2e

## bench: the native engine against sockperf, netperf, iperf3 and the shortest C loop, as ratios, and the proofs of what it
## promises, measured in one run; and the hot path, with allocations counted. Writes bench/RESULTS.md. About eleven minutes;
## the machine should do nothing else.
bench:
	./scripts/install-tools.sh test
	$(GO) run ./bench
	$(GO) test -run '^$$' -bench . -benchmem ./internal/engine/...

clean:
	rm -rf bin dist
