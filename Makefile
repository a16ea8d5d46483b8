# make prints what there is to do; make test is everything that CI runs. The tools are those that .ci/go.mod pins, built
# into .ci/bin when first needed.

TIME ?=
step := @bash .ci/step
bin := .ci/bin

.DEFAULT_GOAL := help
.NOTPARALLEL:

.PHONY: help
help: ## print these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the binary ./jeton
	go build -o jeton ./cmd/jeton

.PHONY: build-bench
build-bench: ## build the binary ./jeton-bench, which ./jeton bench runs
	go build -C cmd/bench -o ../../jeton-bench ./jeton-bench

.PHONY: build-ratelimit
build-ratelimit: ## build the binary ./ratelimit, which stands in for envoyproxy/ratelimit
	CGO_ENABLED=0 go build -o ratelimit ./cmd/ratelimit

.PHONY: test
test: export TALLY := $(CURDIR)/$(bin)/tally
test: ## run everything that CI runs, stopping at the first failure
test: fresh-tally check-generated check-format vet lint check-modules test-tree test-race test-exhaustive test-simulation test-process test-console-page test-clients-typescript test-clients-python test-browser test-site test-chart test-packages
	$(step) "every fuzz target, for a short time" bash .ci/fuzz 1s unguided
	$(step) "every benchmark, once" bash .ci/bench 1x
	@bash .ci/total

.PHONY: fresh-tally
fresh-tally:
	@mkdir -p $(bin) && rm -f $(bin)/tally

.PHONY: check-generated
check-generated: tools ## check that the generated code is current
	$(step) "generated code is current" bash .ci/generated

.PHONY: check-format
check-format: tools ## check that every file is formatted
	$(step) "formatted by gofumpt and buf" bash .ci/format

.PHONY: vet
vet: ## run go vet
	$(step) "go vet" go vet ./...
	$(step) "go vet in cmd/bench" go -C cmd/bench vet ./...
	$(step) "go vet in cluster-tests/browser" go -C cluster-tests/browser vet .
	$(step) "go vet in cmd/site" go -C cmd/site vet .
	$(step) "go vet in cluster-tests/chart" go -C cluster-tests/chart vet .
	$(step) "go vet in cluster-tests/packages" go -C cluster-tests/packages vet .

.PHONY: lint
lint: tools ## run golangci-lint, as .golangci.yml says, and buf lint
	$(step) "golangci-lint" $(bin)/golangci-lint run
	$(step) "golangci-lint in cmd/bench" bash -c 'cd cmd/bench && exec ../../$(bin)/golangci-lint run'
	$(step) "golangci-lint in cluster-tests/browser" bash -c 'cd cluster-tests/browser && exec ../../$(bin)/golangci-lint run'
	$(step) "golangci-lint in cmd/site" bash -c 'cd cmd/site && exec ../../$(bin)/golangci-lint run'
	$(step) "golangci-lint in cluster-tests/chart" bash -c 'cd cluster-tests/chart && exec ../../$(bin)/golangci-lint run'
	$(step) "golangci-lint in cluster-tests/packages" bash -c 'cd cluster-tests/packages && exec ../../$(bin)/golangci-lint run'
	$(step) "buf lint" $(bin)/buf lint rpc/pb

# Modules besides the one of this folder.
modules := cmd/bench cmd/site cluster-tests/browser cluster-tests/caddy cluster-tests/collector cluster-tests/gubernator cluster-tests/chart cluster-tests/packages

define check-module
	$(step) "modules of $(1) are what its go.sum says" go -C $(1) mod verify
	$(step) "go.mod of $(1) is tidy" go -C $(1) mod tidy -diff

endef

.PHONY: check-modules
check-modules: ## check each go.mod and go.sum, and the modules that they name
	$(step) "modules are what go.sum says" go mod verify
	$(step) "go.mod is tidy" go mod tidy -diff
	$(foreach m,$(modules),$(call check-module,$(m)))

# These read the tree, and run nothing of it at the same time: the race detector would only make them slow.
of_tree := cluster-tests/(mutants|pictures|references|spine)

.PHONY: test-tree
test-tree: ## test that what code, pages, pictures and mutants say of one another is true
	$(step) "tests of what the tree says of itself" bash .ci/gotest --none-skipped -count=1 -timeout 20m $$(go list ./... | grep -E '/$(of_tree)$$')

# A test that starts processes stands in cluster-tests itself; whatever runs in one process stands elsewhere, and so
# meets the race detector, but for the simulations: a world knows no goroutines. -count=1: a cached answer has drawn no new
# random input. -p 4: many tests mostly wait.
.PHONY: test-race
test-race: ## run the tests of every package, with the race detector
	$(step) "tests with the race detector" bash .ci/gotest -race -count=1 -p 4 -timeout 40m $$(go list ./... | grep -vE '/cluster-tests(/(simulation|planet))?$$|/$(of_tree)$$')
	$(step) "tests of cmd/bench with the race detector" bash .ci/gotest --in cmd/bench -race -count=1 -timeout 20m ./...

.PHONY: test-exhaustive
test-exhaustive: ## run what goes without the race detector: the model check, placement, a power cut and a failure at every write
	$(step) "model check, placement, power cuts and failures, exhaustive" bash .ci/gotest --none-skipped -count=1 -run '^Test(Model|Assign|Crash|Failure)' ./actor/owner ./ring ./storage ./gateway/route
	$(step) "nodes that change their addresses" bash .ci/gotest --none-skipped -count=1 -run '^Test(UnreachableAddressIsRefused|TwoProcessesOnCopiesOfOneDisk)$$' ./ring/cluster

.PHONY: test-process
test-process: ## run the tests that start and kill processes
	$(step) "tests of whole processes" bash .ci/gotest -count=1 -timeout 90m ./cluster-tests

.PHONY: doors-clients
doors-clients: ## have clients of Redis in other languages ask a cluster, as docs/redis-clients.md shows; installs them
	@bash .ci/clients
	$(step) "clients of Redis" bash .ci/gotest --show-passed --none-skipped -count=1 -run '^TestRedisClients$$' ./cluster-tests $(if $(ARGS),-args $(ARGS))

.PHONY: test-console-page
test-console-page: ## test what the console's page computes, without a browser; installs Node.js where it is missing
	$(step) "tests of the console's page" bash .ci/console-page

.PHONY: test-clients-typescript
test-clients-typescript: ## build and test the client for TypeScript, against a cluster of processes; installs Node.js where it is missing
	$(step) "tests of clients/typescript" bash .ci/clients-typescript
.PHONY: test-clients-python
test-clients-python: ## test the client for Python against a cluster, with Debian's Python and frameworks
	$(step) "tests of clients/python" bash .ci/clients-python

.PHONY: test-browser
test-browser: ## drive the console in Chromium; installs it where it is missing
	$(step) "tests of the console in a browser" bash .ci/browser -skip '^TestSite'

.PHONY: site
site: ## make the documentation a site of static pages, in the folder site: make site BASE=/docs/, where it will stand at that path
	$(step) "site" go -C cmd/site run . $(if $(BASE),--base $(BASE))

.PHONY: test-site
test-site: ## test the site: that it says what the pages say, its links and its search, and each of its pages in Chromium
	$(step) "tests of cmd/site" bash .ci/gotest --none-skipped --in cmd/site -count=1 -timeout 10m .
	$(step) "tests of the site in a browser" bash .ci/browser -run '^TestSite'

.PHONY: test-chart
test-chart: ## test the Helm chart: render it, and hold it against the schemas of Kubernetes and the binary's options
	$(step) "tests of the chart" bash .ci/gotest --none-skipped --in cluster-tests/chart -count=1 -timeout 15m .

.PHONY: packages
packages: ## make all that a release consists of into ./dist, but for signatures and images: make packages VERSION=0.1.0
	$(step) "packages" bash .ci/packages $(if $(VERSION),--version $(VERSION))

.PHONY: test-packages
test-packages: ## test packages on a bare Debian, and the image's files, as root
	$(step) "tests of packages" bash .ci/test-packages

.PHONY: screenshots
screenshots: export JETON_SCREENSHOTS := $(CURDIR)/docs/console
screenshots: ## make the pictures of the console that the pages show
	@mkdir -p $(JETON_SCREENSHOTS)
	$(step) "pictures of the console" bash .ci/browser -run '^TestConsole$$'

.PHONY: doors-traefik
doors-traefik: ## have Traefik's own rate limiter ask a cluster for Redis; it takes some minutes to build the first time
	$(step) "modules of cluster-tests/traefik are what its go.sum says" bash -c 'cd cluster-tests/traefik && ./upstream.sh && go mod verify && go mod tidy -diff'
	$(step) "Traefik's rate limiter" bash .ci/gotest --show-passed --none-skipped -count=1 -timeout 30m -run '^TestTraefik$$' ./cluster-tests -args -traefik

.PHONY: test-simulation
test-simulation: ## simulate 100 hours of a cluster, of which 20 were never seen before, and a planet for some seconds
	$(step) "100 simulated hours" bash .ci/gotest --none-skipped -count=1 -timeout 20m ./cluster-tests/simulation
	$(step) "a simulated planet" bash .ci/gotest --none-skipped -count=1 -timeout 20m ./cluster-tests/planet

.PHONY: simulate
simulate: export JETON_SIMULATE_HOURS := $(or $(HOURS),10000)
simulate: export JETON_SIMULATE_FIRST := $(FIRST)
simulate: export JETON_SIMULATE_SEED := $(SEED)
simulate: ## simulate 10,000 hours, of new seeds: make simulate HOURS=100, the same again: FIRST=7, or one seed and its story: SEED=7
	$(step) "simulation" go test -count=1 -timeout 0 -v -run '^TestSimulation$$' ./cluster-tests/simulation

.PHONY: regions
regions: ## run clusters in two regions with links between them that take time, and print what docs/regions.md shows
	$(step) "regions" go run ./cluster-tests/regions $(ARGS)

.PHONY: planet
planet: ## simulate a planet with 300 edges, and print what docs/planet.md shows: make planet ARGS='--scenario attack --seed 7'
	$(step) "planet" go run ./cluster-tests/planet $(ARGS)

.PHONY: nemesis
nemesis: ## attack a cluster of processes at random, as root or where user namespaces are allowed: make nemesis TIME=10m SEED=7 REPORT=file.md
	$(step) "nemesis" go test -count=1 -timeout 0 -v -run '^TestNemesis$$' ./cluster-tests -args -time $(or $(TIME),10m) $(if $(SEED),-seed $(SEED)) $(if $(REPORT),-report $(abspath $(REPORT))) $(ARGS)

.PHONY: events
events: ## every failure of docs/protocol.md at its full length: minutes each
	$(step) "events, at full length" bash .ci/gotest --show-passed -count=1 -timeout 0 -run '^Test(Event|Partition)' ./cluster-tests -args -long -cut 30s

.PHONY: mutants
mutants: ## break the code on purpose, one rule after another: a test must notice each; prints which, and after how long, and writes docs/mutants.md
	$(step) "mutants" env JETON_MUTANTS=all JETON_MUTANTS_TABLE=$(CURDIR)/$(bin)/mutants.md bash .ci/gotest --none-skipped -count=1 -timeout 60m -run '^TestMutants$$' ./cluster-tests
	@cat $(bin)/mutants.md
	@sed '/^| mutant /,$$d' docs/mutants.md | cat - $(bin)/mutants.md > $(bin)/page.md && mv $(bin)/page.md docs/mutants.md

.PHONY: before-release
before-release: ## run what is too long for CI, before each release: see CONTRIBUTING.md
	$(MAKE) mutants
	$(MAKE) simulate HOURS=2000
	$(MAKE) events
	$(MAKE) doors-traefik
	$(MAKE) nemesis TIME=30m

.PHONY: fuzz
fuzz: export ONLY := $(ONLY)
fuzz: ## fuzz every target in turn: make fuzz TIME=1m, or some of them: make fuzz TIME=1m ONLY='^gateway/'
	$(step) "fuzzing" bash .ci/fuzz $(or $(TIME),30s)

.PHONY: bench
bench: build build-bench ## measure what has a target, against a no-op service: make bench ARGS=--quick
	./jeton bench table $(ARGS)

.PHONY: speed
speed: build build-bench ## measure where the time of a check goes: make speed BEFORE=path/of/an/older/jeton
	./jeton bench stages capture $(if $(BEFORE),--before $(BEFORE)) --into docs/speed.json
	./jeton bench stages --from docs/speed.json --output docs/speed.svg --page docs/speed.md

.PHONY: benchmarks
benchmarks: ## run every benchmark of the code: make benchmarks TIME=5s
	$(step) "benchmarks" bash .ci/bench $(or $(TIME),1s)

.PHONY: generate
generate: tools ## generate the protobuf code, the schema of the gateway's document, the table of who may call what, the page of options, the pictures of the protocol and the planet, the dashboards, and what the chart has of them
	cd rpc/pb && PATH="$(CURDIR)/$(bin):$$PATH" buf generate
	go generate ./gateway/config ./rpc/access ./cmd/jeton
	go -C cmd/bench generate ./jeton-bench
	go run ./cluster-tests/pictures --into docs/protocol
	go run ./cluster-tests/planet --draw docs/planet
	go run ./cluster-tests/dashboards --into deploy/grafana
	go -C cluster-tests/chart test -count=1 -run '^TestCopiesAreCurrent$$' . -args -update

.PHONY: fmt
fmt: tools ## format every file
	$(bin)/gofumpt -w .
	$(bin)/buf format -w rpc/pb

.PHONY: tools
tools: ## build the tools that .ci/go.mod pins
	@bash .ci/tools

.PHONY: clean
clean: ## remove what was built; the caches of Go stay
	rm -rf jeton jeton-bench ratelimit dist $(bin) clients/python/build clients/python/dist clients/python/*.egg-info site
