// Package pb is jeton's protobuf interface: the code generated from jeton/v1, the converters between it and the
// vocabulary of actor/limit, and the one place that turns errors into wire codes and back (status.go). Protobuf goes no
// further in than the packages of rpc.
//
// Encode functions make messages, decode functions read them. Decoding takes whatever a peer sends: it never panics,
// leaves the judgment of keys, limits and costs to actor/limit, and itself refuses only what has no form there, with a
// *limit.FieldError. Start with [EncodeRequest].
//
// A node, which sees a million checks a second, reads and writes their messages without the generated types: [CheckIn],
// [BatchIn] and [StreamIn] read themselves, [CheckOut], [BatchOut] and [StreamOut] write themselves. On the wire there is
// no difference.
package pb

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// EncodeRequest is r as a message. Text that is not UTF-8 would make the message impossible to send: it is replaced in
// limits, which are then refused or unknown over there, and must have been refused before ([limit.Request.Validate]) in
// the key and the id.
func EncodeRequest(r limit.Request) *CheckRequest {
	cost := r.Cost
	if cost == 0 {
		cost = r.Tokens() // 0 for a look alone: older nodes know a look by it, and take an absent cost for 1
	}
	out := &CheckRequest{Key: r.Key, Look: r.Look, RequestId: r.ID, Receipt: r.Receipt, Extend: r.Extend, Plan: r.Plan, WaitNs: int64(r.Wait), HoldNs: int64(r.Hold), Least: r.Least, Charge: r.Charge}
	if r.Extend == 0 || r.Cost != 0 {
		out.Cost = &cost
	}
	if a := r.Lease; a != nil {
		out.Lease = &LeaseRequest{LifeNs: int64(a.Life), AfterNs: int64(a.After), NowNs: a.Now, Terms: a.Terms, Edge: a.Edge, Held: a.Held, Id: a.ID}
	}
	if p := r.Report; p != nil {
		out.Report = &ReportRequest{Edge: p.Edge, Number: p.Number, AgeNs: int64(p.Age), Asked: p.Asked}
	}
	out.Limits = make([]*LimitRef, len(r.Limits))
	for i, ref := range r.Limits {
		out.Limits[i] = EncodeRef(ref)
	}
	return out
}

// EncodeRef is ref as a message.
func EncodeRef(ref limit.Ref) *LimitRef {
	if ref.Inline == nil {
		return &LimitRef{Ref: &LimitRef_Name{Name: ref.Name}}
	}
	return &LimitRef{Ref: &LimitRef_Inline{Inline: encodeLimit(*ref.Inline)}}
}

// DecodeRef reads a message. One that refers to nothing is a reference to a limit without a name.
func DecodeRef(m *LimitRef) limit.Ref {
	if inline := m.GetInline(); inline != nil {
		return limit.Inline(decodeLimit(inline))
	}
	return limit.Named(m.GetName())
}

func encodeLimit(l limit.Limit) *Limit {
	out := &Limit{
		Name:          l.Name,
		Algorithm:     l.Algorithm,
		Capacity:      l.Capacity,
		OnUnavailable: string(l.OnUnavailable),
		WindowNs:      int64(l.Window),
		Per:           l.Per,
		Timezone:      l.Timezone,
		Anchor:        l.Anchor,
		Weighted:      l.Weighted,
		LeaseNs:       int64(l.Lease),
		WaitNs:        int64(l.MaxWait),
		PenaltyAfter:  l.Penalty.After,
		PenaltyForNs:  int64(l.Penalty.For),
		PenaltyMaxNs:  int64(l.Penalty.Max),
		HoldNs:        int64(l.Holds.Longest),
		OnExpiry:      string(l.Holds.OnExpiry),
		MaxDebt:       l.Holds.MaxDebt,
		Reserve:       int32(l.Reserve),
		Consistency:   string(l.Consistency),
		SyncNs:        int64(l.Sync),
		Share:         string(l.Share),
		Hot:           string(l.Hot),
		Gauges:        int32(l.Gauges), //nolint:gosec // at most limit.MostGauges
	}
	if l.Refill != (limit.Refill{}) {
		out.Refill = &Refill{Tokens: l.Refill.Tokens, PerNs: int64(l.Refill.Per)}
	}
	return out
}

func decodeLimit(m *Limit) limit.Limit {
	return limit.Limit{
		Name:          m.GetName(),
		Algorithm:     m.GetAlgorithm(),
		Capacity:      m.GetCapacity(),
		Refill:        limit.Refill{Tokens: m.GetRefill().GetTokens(), Per: time.Duration(m.GetRefill().GetPerNs())},
		OnUnavailable: limit.Policy(m.GetOnUnavailable()),
		Window:        time.Duration(m.GetWindowNs()),
		Per:           m.GetPer(),
		Timezone:      m.GetTimezone(),
		Anchor:        m.GetAnchor(),
		Weighted:      m.GetWeighted(),
		Lease:         time.Duration(m.GetLeaseNs()),
		MaxWait:       time.Duration(m.GetWaitNs()),
		Penalty: limit.Penalty{
			After: m.GetPenaltyAfter(), For: time.Duration(m.GetPenaltyForNs()), Max: time.Duration(m.GetPenaltyMaxNs()),
		},
		Holds: limit.Holds{
			Longest: time.Duration(m.GetHoldNs()), OnExpiry: limit.Expiry(m.GetOnExpiry()), MaxDebt: m.GetMaxDebt(),
		},
		Reserve: limit.Reserve(m.GetReserve()), Consistency: limit.Consistency(m.GetConsistency()),
		Sync: time.Duration(m.GetSyncNs()), Share: limit.Share(m.GetShare()), Hot: limit.Hot(m.GetHot()), Gauges: int(m.GetGauges()),
	}
}

func encodeOwner(o limit.OwnerID) []byte { return append([]byte(nil), o[:]...) }

func decodeOwner(id []byte) (limit.OwnerID, error) {
	if len(id) != len(limit.OwnerID{}) {
		return limit.OwnerID{}, &limit.FieldError{
			Field:   "owner",
			Problem: fmt.Sprintf("has %d bytes, not %d", len(id), len(limit.OwnerID{})),
		}
	}
	return limit.OwnerID(id), nil
}
