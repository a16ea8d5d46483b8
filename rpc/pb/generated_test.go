package pb

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A node reads requests and writes results without the generated types. The tests compare what it reads and writes with what the
// generated types make.

// decodeRequest reads a message by the generated types.
func decodeRequest(m *CheckRequest) limit.Request {
	r := limit.Request{Key: m.GetKey(), Cost: m.GetCost(), Look: m.GetLook(), ID: m.GetRequestId(), Receipt: m.GetReceipt(), Extend: m.GetExtend(), Plan: m.GetPlan(), Wait: time.Duration(m.GetWaitNs()), Hold: time.Duration(m.GetHoldNs()), Least: m.GetLeast(), Charge: m.GetCharge()}
	if a := m.GetLease(); a != nil {
		r.Lease = &limit.LeaseAsk{Life: time.Duration(a.GetLifeNs()), Now: a.GetNowNs(), Terms: a.GetTerms(), Edge: a.GetEdge(), Held: a.GetHeld(), ID: a.GetId(), After: time.Duration(a.GetAfterNs())}
	}
	if p := m.GetReport(); p != nil {
		r.Report = &limit.Report{Edge: p.GetEdge(), Number: p.GetNumber(), Age: time.Duration(p.GetAgeNs()), Asked: p.GetAsked()}
	}
	if n := len(m.GetLimits()); n > 0 {
		r.Limits = make([]limit.Ref, n)
	}
	for i, ref := range m.GetLimits() {
		r.Limits[i] = DecodeRef(ref)
	}
	return r
}

// encodeResult is one answer of many as a message of the generated types.
func encodeResult(r limit.Result) *CheckResult {
	if r.Err != nil {
		return &CheckResult{Result: &CheckResult_Error{Error: EncodeError(r.Err).Proto()}}
	}
	return &CheckResult{Result: &CheckResult_Decision{Decision: EncodeDecision(r.Decision)}}
}
