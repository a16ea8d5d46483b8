// Package bench measures a node: how many checks it decides in a second and how long each takes, next to what the same
// machine does for a service that decides nothing, or for Redis.
//
//	Run       a load on a running node
//	Compare   a load on a node of its own, or a cluster, and on something else, in turn: what counts is the ratio
//	Table     every case that has a target, and whether it is met
//
// Throughput says little by itself, because it depends on the machine, and the generator of the load shares it with the
// node. A ratio to a service with the same messages, which does nothing but what gRPC and protobuf do, depends on it
// far less. That service is a reference and no upper bound: it uses the generated protobuf code, and a node that reads and
// writes its messages more cheaply can be faster. A ratio near or above 1 therefore does not say that deciding is free.
//
// A cluster of three nodes is compared with one node on the same machine: they do every reservation three times, and share
// the processors with each other and with the generator, which goes to the owners of the keys. Such a ratio shows what
// replication costs, and not how much faster three machines would be than one.
package bench

import "context"

// Run puts a load on the node at server, and reports what it has shown. When ctx ends, so does the load; what was measured
// until then is reported. An error names the flag of "jeton bench" that is wrong.
func Run(ctx context.Context, server string, l Load) (Report, error) {
	if err := l.check(); err != nil {
		return Report{}, err
	}
	s, err := dial(ctx, server, l, nil)
	if err != nil {
		return Report{}, err
	}
	defer s.close() //nolint:errcheck // everything was answered, or given up
	return measure(ctx, l, s)
}
