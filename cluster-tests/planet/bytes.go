package main

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// sizes are how many bytes messages of a key take with their answers, as package pb encodes them: without what gRPC, HTTP/2, TLS and TCP add.
type sizes struct{ check, report, lease, back float64 }

// sizesOf encodes one message of each kind, and its answer.
func sizesOf(rank int, rule *limit.Rule, now int64) sizes {
	r := limit.Request{Key: fmt.Sprintf("user:%010d", rank), Limits: []limit.Ref{limit.Named(rule.Name)}, Cost: 1}
	d := limit.Decision{Allowed: true, Limits: []limit.Outcome{rule.Outcome(limit.At(now+1e9), now, 1, limit.At(now+1e9), true)}}
	s := sizes{check: size(pb.EncodeRequest(r)) + size(&pb.CheckResponse{Decision: pb.EncodeDecision(d)})}
	report := r
	report.Cost, report.Charge = rule.Capacity/10, true
	s.report = size(pb.EncodeRequest(report)) + size(&pb.CheckResponse{Decision: pb.EncodeDecision(d)})
	span := limit.Span{Start: now + 1e9, End: now + 2e9}
	l := limit.Lease{Receipt: limit.Receipt{Limit: rule.Name, Span: span, Owner: limit.OwnerID{1, 15: 1}, Serial: 1 << 63}, Until: now + 2e9, Now: now}
	r.Cost, r.Lease = rule.Capacity/10, &limit.LeaseAsk{Life: 2e9, Now: now, Terms: rule.LeaseTerms(), Held: rule.Capacity / 100, Edge: "edge-frankfurt-3"}
	d.Lease = &l
	s.lease = size(pb.EncodeRequest(r)) + size(&pb.CheckResponse{Decision: pb.EncodeDecision(d)})
	s.back = size(&pb.ReturnRequest{Key: r.Key, Receipts: pb.EncodeReceipts([]limit.Receipt{l.Tail(now + 15e8)})}) + size(&pb.ReturnResponse{Returned: []bool{true}})
	return s
}

func size(m proto.Message) float64 { return float64(proto.Size(m)) }
