package pb

import "github.com/jeton-dev/jeton/actor/limit"

// EncodeInspection is what was seen of a bucket as a message.
func EncodeInspection(in limit.Inspection) *Inspection {
	out := &Inspection{
		Key: in.Key, Override: text(in.Override), Plan: in.Plan, NowNs: in.Now, Partition: int64(in.Partition), Epoch: in.Epoch,
		Owner: encodeOwner(in.Owner), Node: in.Node, Awake: in.Awake,
		Generation: in.Generation, TatNs: in.TAT, Tokens: in.Tokens,
		Segment: encodeSpan(in.Segment), Next: encodeSpan(in.Next), CreditNs: in.Credit, Waiting: int64(in.Waiting),
		Registers: make([]*Register, len(in.Registers)), Recent: make([]*RecentDecision, len(in.Recent)),
	}
	out.Ledger, out.LateNs, out.Held, out.ClosedNs, out.Denied = in.Ledger, in.Late, in.Held, in.Closed, in.Denied
	out.BeginsNs, out.Holds, out.Debt = in.Begins, encodeHolds(in.Holds), in.Debt
	for i := range in.Leases {
		l := &in.Leases[i]
		out.Leases = append(out.Leases, &LeaseSeen{Edge: l.Edge, Span: encodeSpan(l.Span), UntilNs: l.Until})
	}
	out.Verdict, out.OverrideUntilNs = in.Verdict.String(), in.Until
	if in.Rule != nil {
		out.Limit = encodeLimit(in.Rule.Limit)
	}
	for i, r := range in.Registers {
		out.Registers[i] = &Register{
			Node: r.Node, Exists: r.Exists, Generation: r.Generation,
			ReservedNs: r.Reserved, FloorNs: r.Floor, HorizonNs: r.Horizon,
			Error: text(r.Error), Epoch: r.Epoch, Sealed: r.Sealed,
		}
	}
	for i, r := range in.Recent {
		out.Recent[i] = &RecentDecision{AtNs: r.At, Cost: r.Cost, Allowed: r.Allowed}
	}
	return out
}

// DecodeInspection reads a message. A limit that makes no rule and an owner that is not 16 bytes are errors. In what people read,
// [text] stands for what is not UTF-8, as it does in a message that EncodeInspection makes: the messages themselves may hold any bytes.
func DecodeInspection(m *Inspection) (limit.Inspection, error) {
	rule, err := decodeLimit(m.GetLimit()).Rule()
	if err != nil {
		return limit.Inspection{}, unreadable(within("limit", err))
	}
	owner, err := decodeOwner(m.GetOwner())
	if err != nil {
		return limit.Inspection{}, unreadable(err)
	}
	in := limit.Inspection{
		Key: m.GetKey(), Override: text(m.GetOverride()), Plan: m.GetPlan(), Rule: rule, Now: m.GetNowNs(), Partition: int(m.GetPartition()), Epoch: m.GetEpoch(),
		Owner: owner, Node: m.GetNode(), Awake: m.GetAwake(),
		Generation: m.GetGeneration(), TAT: m.GetTatNs(), Tokens: m.GetTokens(),
		Segment: decodeSpan(m.GetSegment()), Next: decodeSpan(m.GetNext()),
		Credit: m.GetCreditNs(), Waiting: int(m.GetWaiting()),
	}
	if ledger := m.GetLedger(); len(ledger) > 0 {
		in.Ledger = ledger
	}
	in.Late, in.Held, in.Closed, in.Denied = m.GetLateNs(), m.GetHeld(), m.GetClosedNs(), m.GetDenied()
	in.Begins, in.Holds, in.Debt = m.GetBeginsNs(), decodeHolds(m.GetHolds()), m.GetDebt()
	for _, l := range m.GetLeases() {
		in.Leases = append(in.Leases, limit.LeaseSeen{Edge: l.GetEdge(), Span: decodeSpan(l.GetSpan()), Until: l.GetUntilNs()})
	}
	in.Verdict, in.Until = limit.VerdictOf(m.GetVerdict()), m.GetOverrideUntilNs()
	for _, r := range m.GetRegisters() {
		in.Registers = append(in.Registers, limit.Stored{
			Node: r.GetNode(), Exists: r.GetExists(), Generation: r.GetGeneration(),
			Reserved: r.GetReservedNs(), Floor: r.GetFloorNs(), Horizon: r.GetHorizonNs(),
			Error: text(r.GetError()), Epoch: r.GetEpoch(), Sealed: r.GetSealed(),
		})
	}
	for _, r := range m.GetRecent() {
		in.Recent = append(in.Recent, limit.Recent{At: r.GetAtNs(), Cost: r.GetCost(), Allowed: r.GetAllowed()})
	}
	return in, nil
}

// encodeHolds is the holds of a bucket as a message; nil for nil.
func encodeHolds(seen *limit.HoldsSeen) *HoldsSeen {
	if seen == nil {
		return nil
	}
	out := &HoldsSeen{
		Open: int64(seen.Open), Tokens: seen.Tokens, ExpiresNs: seen.Expires, Total: int64(seen.Total), List: make([]*SeenHold, len(seen.List)),
	}
	for i, h := range seen.List {
		out.List[i] = &SeenHold{Id: h.ID, State: text(string(h.State)), Amount: h.Amount, Used: h.Used, UntilNs: h.Until}
	}
	return out
}

// decodeHolds reads what encodeHolds has made.
func decodeHolds(m *HoldsSeen) *limit.HoldsSeen {
	if m == nil {
		return nil
	}
	seen := &limit.HoldsSeen{Open: int(m.GetOpen()), Tokens: m.GetTokens(), Expires: m.GetExpiresNs(), Total: int(m.GetTotal())}
	for _, h := range m.GetList() {
		seen.List = append(seen.List, limit.SeenHold{
			ID: h.GetId(), State: limit.HoldState(text(h.GetState())), Amount: h.GetAmount(), Used: h.GetUsed(), Until: h.GetUntilNs(),
		})
	}
	return seen
}
