package main

// What things cost, in microseconds of one processor, all sides together. Measured on 2026-11-27 on two shared processors (AMD EPYC); processor time, not time on the clock. The commands:
//
//	hereCost      go test -c ./cluster-tests/planet && time ./planet.test -test.run xxx -test.bench Here -test.benchtime 2000000x      user and sys ÷ 2,000,000
//	callCost      go test -c ./rpc && cd rpc && time ../rpc.test -test.run xxx -test.bench '^BenchmarkCheck$' -test.benchtime 100000x  user and sys ÷ 100,000
//	ownerCost     make speed: route, decide and scheduler of one check per call, in docs/speed.md
//	reserveCost   make speed: registers and fsync of the same, at each of three replicas, and a message of a batch to two of them
const (
	hereCost    = 0.7  // a check that an edge decides
	callCost    = 56.0 // a call of one check over gRPC, at caller and node, decided by nobody
	ownerCost   = 3.3  // what the node decides
	reserveCost = 11.7 // a reservation
)

// What is assumed of prices.
const (
	coreHour = 0.04 // dollars for a core and an hour
	gigabyte = 0.02 // dollars for a gigabyte between regions
	overhead = 1.6  // what goes over the wire, per byte of messages: frames, headers, TLS and TCP, of many calls on one connection
)

// cores is how many cores a million checks a second keep busy.
func (r *result) cores() float64 {
	t := &r.all
	return t.per(t.checks*hereCost + t.messages*(callCost+ownerCost) + r.reserved*reserveCost)
}

// compute and network are what a billion checks cost, in dollars.
func (r *result) compute() float64 { return r.cores() * 1e3 / 3600 * coreHour }
func (r *result) network() float64 { return r.all.per(r.all.bytes) * overhead * gigabyte }
