package pb

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// What protobuf and the decoders of the generated messages make of some bytes, which the direct ones have to match.

func stockCheck(data []byte) (limit.Request, error) {
	m := new(CheckRequest)
	err := proto.Unmarshal(data, m)
	return decodeRequest(m), err
}

func stockBatch(data []byte) (BatchIn, error) {
	m := new(CheckBatchRequest)
	err := proto.Unmarshal(data, m)
	in := BatchIn{Len: len(m.GetChecks())}
	if in.Len <= limit.MaxBatch {
		in.Requests = make([]limit.Request, in.Len)
		for i, check := range m.GetChecks() {
			in.Requests[i] = decodeRequest(check)
		}
	}
	return in, err
}

func stockStream(data []byte) (StreamIn, error) {
	m := new(CheckStreamRequest)
	err := proto.Unmarshal(data, m)
	n := len(m.GetChecks()) + len(m.GetSettlements())
	in := StreamIn{
		Len: n, IDs: make([]uint64, min(len(m.GetChecks()), limit.MaxBatch)), Within: time.Duration(m.GetWithinNs()),
		GivenUp: m.GetGivenUp()[:min(len(m.GetGivenUp()), limit.MaxBatch+1)],
	}
	if n > limit.MaxBatch {
		return in, err
	}
	in.Requests = make([]limit.Request, len(m.GetChecks()))
	for i, check := range m.GetChecks() {
		if in.Traces == nil && check.GetTrace() != "" {
			in.Traces = make([]string, len(m.GetChecks()))
		}
		if in.Traces != nil {
			in.Traces[i] = check.GetTrace()
		}
		in.Requests[i], in.IDs[i] = decodeRequest(check.GetCheck()), check.GetId()
	}
	for _, s := range m.GetSettlements() {
		in.Settlements = append(in.Settlements, SettlementIn{ID: s.GetId(), SettleIn: stockSettlement(s.GetSettlement())})
	}
	return in, err
}

// stockSettlement is what is kept of a settlement whose hold cannot be read, too.
func stockSettlement(m *SettleRequest) SettleIn {
	s := limit.Settlement{Used: m.GetUsed(), Open: m.GetOpen(), For: time.Duration(m.GetForNs())}
	h, err := limit.ParseHold(m.GetHold())
	s.Hold = h
	return SettleIn{Settlement: s, Wrong: err}
}

func stockSettle(data []byte) (SettleIn, error) {
	m := new(SettleRequest)
	err := proto.Unmarshal(data, m)
	return stockSettlement(m), err
}

func sameSettle(t interface{ Fatalf(string, ...any) }, data []byte) {
	var got SettleIn
	err := got.UnmarshalWire(data)
	want, stock := stockSettle(data)
	same(t, data, got, err, want, stock)
}

// same fails t unless the direct decoder refuses what protobuf refuses, and otherwise reads the same.
func same(t interface{ Fatalf(string, ...any) }, data []byte, got any, err error, want any, stock error) {
	switch {
	case (err == nil) != (stock == nil):
		t.Fatalf("%x: %v, but protobuf says %v", data, err, stock)
	case err != nil && strings.ReplaceAll(stock.Error(), "\u00a0", " ") != err.Error(): // protobuf uses both spaces, not to be relied on
		t.Fatalf("%x: %q, but protobuf says %q", data, err, stock)
	case err == nil && !reflect.DeepEqual(got, want):
		t.Fatalf("%x: got %+v, but protobuf reads %+v", data, got, want)
	}
}

func sameCheck(t interface{ Fatalf(string, ...any) }, data []byte) {
	var got CheckIn
	err := got.UnmarshalWire(data)
	want, stock := stockCheck(data)
	same(t, data, got.Request, err, want, stock)
}

func sameBatch(t interface{ Fatalf(string, ...any) }, data []byte) {
	var got BatchIn
	err := got.UnmarshalWire(data)
	want, stock := stockBatch(data)
	same(t, data, got, err, want, stock)
}

func sameStream(t interface{ Fatalf(string, ...any) }, data []byte) {
	var got StreamIn
	err := got.UnmarshalWire(data)
	want, stock := stockStream(data)
	if stock == nil && got.Len > limit.MaxBatch {
		got.IDs, want.IDs = nil, nil // there is nothing that they number
	}
	if strings.Join(got.Traces, "") == "" { // a trace that was taken back
		got.Traces = nil
	}
	same(t, data, got, err, want, stock)
}

// requestFields draws the bytes of a message field by field: known ones in any order and number, some of another type
// than theirs, unknown ones, some malformed, and some cut short.
func requestFields(t *rapid.T, depth int) []byte {
	var b []byte
	for range rapid.IntRange(0, 5).Draw(t, "fields") {
		number := protowire.Number(rapid.IntRange(1, 17).Draw(t, "number"))
		switch rapid.SampledFrom([]string{"varint", "text", "message", "fixed32", "fixed64", "group", "raw"}).Draw(t, "type") {
		case "varint":
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), rapid.Uint64().Draw(t, "varint"))
		case "text":
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), rapid.StringN(0, 9, 200).Draw(t, "text"))
		case "message":
			if depth > 0 {
				b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), requestFields(t, depth-1))
			}
		case "fixed32":
			b = protowire.AppendFixed32(protowire.AppendTag(b, number, protowire.Fixed32Type), rapid.Uint32().Draw(t, "fixed32"))
		case "fixed64":
			b = protowire.AppendFixed64(protowire.AppendTag(b, number, protowire.Fixed64Type), rapid.Uint64().Draw(t, "fixed64"))
		case "group":
			if depth > 0 {
				b = protowire.AppendTag(b, number, protowire.StartGroupType)
				b = append(b, requestFields(t, depth-1)...)
				b = protowire.AppendTag(b, number, protowire.EndGroupType)
			}
		case "raw":
			b = append(b, rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "raw")...)
		}
	}
	return b
}

// TestDecodeAsProtobufDoes feeds both decoders messages that no honest client would send.
func TestDecodeAsProtobufDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := requestFields(t, 5)
		sameCheck(t, data)
		sameBatch(t, data)
		sameStream(t, data)
		whole := protowire.AppendBytes([]byte{tagChecks}, data)
		sameBatch(t, whole)
		sameStream(t, whole)
		sameStream(t, protowire.AppendBytes([]byte{tagChecks}, protowire.AppendBytes([]byte{tagCheck}, data)))
		sameSettle(t, data)
		sameStream(t, append(whole, protowire.AppendBytes([]byte{tagSettlements}, data)...))
		sameStream(t, protowire.AppendBytes([]byte{tagSettlements}, protowire.AppendBytes([]byte{tagSettlement}, data)))
	})
}

func TestDecodeTable(t *testing.T) {
	inline := func(fields ...byte) []byte { return protowire.AppendBytes([]byte{tagInline}, fields) }
	ref := func(parts ...[]byte) []byte {
		var b []byte
		for _, p := range parts {
			b = append(b, p...)
		}
		return protowire.AppendBytes([]byte{tagLimits}, b)
	}
	name := []byte{tagName, 1, 'n'}
	onExpiry := protowire.AppendString(protowire.AppendTag(nil, 17, protowire.BytesType), "free")
	for what, data := range map[string][]byte{
		"nothing":                           {},
		"a name":                            ref(name),
		"two limits":                        append(ref(name), ref(inline(tagCapacity, 5))...),
		"a reference to nothing":            ref(),
		"an empty definition":               ref(inline()),
		"a name, then a definition":         ref(name, inline(tagCapacity, 5)),
		"a definition, then a name":         ref(inline(tagCapacity, 5), name),
		"two definitions are merged":        ref(inline(tagCapacity, 5), inline(tagLimitName, 1, 'x')),
		"not those around a name":           ref(inline(tagCapacity, 5), name, inline(tagLimitName, 1, 'x')),
		"two refills are merged":            ref(inline(tagRefill, 2, tagTokens, 3, tagRefill, 2, tagPerNs, 4)),
		"two costs":                         {tagCost, 4, tagCost, 5},
		"cost 0":                            {tagCost, 0},
		"a negative cost":                   append([]byte{tagCost}, protowire.AppendVarint(nil, 1<<64-1)...),
		"a cost that is a text":             {3<<3 | 2, 1, 5},
		"a flag of two":                     {tagReceipt, 2},
		"a flag taken back":                 {tagReceipt, 1, tagReceipt, 0},
		"a look":                            {tagLook, 1},
		"an extension":                      {tagExtend, 7},
		"a plan":                            {tagPlan, 3, 'p', 'r', 'o'},
		"a plan twice":                      {tagPlan, 1, 'p', tagPlan, 1, 'q'},
		"a wait":                            {tagWait, 7},
		"a wait of a limit":                 ref(inline(tagMaxWait, 5)),
		"a hold":                            {tagHoldFor, 7, tagLeast, 3},
		"a hold twice":                      {tagHoldFor, 7, tagLeast, 3, tagLeast, 4, tagHoldFor, 8},
		"a hold that is a text":             {10<<3 | 2, 1, 5, 11<<3 | 2, 1, 5},
		"a lease":                           {tagLeaseAsk, 15, tagLife, 1, tagEdgeNow, 2, tagTerms, 3, tagEdgeName, 1, 'e', tagEdgeHas, 5, tagEdgeID, 6, tagAfter, 7},
		"two leases are merged":             {tagLeaseAsk, 2, tagLife, 1, tagLeaseAsk, 2, tagTerms, 3},
		"a charge":                          {tagCharge, 1},
		"a report":                          {tagReport, 8, tagReportEdge, 1, tagReportNumber, 2, tagReportAge, 3, tagReportAsked, 4},
		"two reports are merged":            {tagReport, 2, tagReportEdge, 1, tagReport, 2, tagReportAge, 3},
		"a report of nothing":               {tagReport, 0},
		"a lease of nothing":                {tagLeaseAsk, 0},
		"the consistency of a limit":        ref(inline(protowire.AppendBytes(protowire.AppendTag(nil, 20, protowire.BytesType), []byte("leased"))...)),
		"a negative hold":                   append([]byte{tagHoldFor}, protowire.AppendVarint(nil, 1<<64-1)...),
		"holds of a limit":                  ref(inline(append(protowire.AppendVarint(protowire.AppendTag(nil, 16, protowire.VarintType), 7), onExpiry...)...)),
		"the reserve of a limit":            ref(inline(protowire.AppendVarint(protowire.AppendTag(nil, 19, protowire.VarintType), 1<<64-1)...)),
		"a reserve out of range":            ref(inline(protowire.AppendVarint(protowire.AppendTag(nil, 19, protowire.VarintType), 1<<40+7)...)),
		"the debt of a limit":               ref(inline(protowire.AppendVarint(protowire.AppendTag(nil, 18, protowire.VarintType), 1<<64-1)...)),
		"a look of no cost":                 {tagCost, 0, tagLook, 1},
		"a key twice":                       {tagKey, 1, 'a', tagKey, 1, 'b'},
		"a key that is not UTF-8":           {tagKey, 2, 'k', 0xff},
		"a tag of two bytes":                {tagKey | 0x80, 0, 1, 'a'},
		"a length of two bytes":             {tagKey, 0x81, 0, 'a'},
		"an unknown field":                  {0xfa, 0x01, 1, 'a', tagKey, 1, 'b'},
		"an unknown group":                  {9<<3 | 3, 8, 1, 9<<3 | 4, tagKey, 1, 'b'},
		"a group that does not end":         {9<<3 | 3, 8, 1},
		"an end without a group":            {9<<3 | 4},
		"the end of another group":          {9<<3 | 3, 10<<3 | 4},
		"field 0":                           {0, 1},
		"a field beyond the last":           append(protowire.AppendVarint(nil, 1<<32|tagCost), 1),
		"a type that does not exist":        {3<<3 | 7, 1},
		"a key that is cut short":           {tagKey, 5, 'a'},
		"a length beyond all":               append([]byte{tagKey}, protowire.AppendVarint(nil, 1<<63)...),
		"a number that is cut short":        {tagCost, 0x80},
		"a number of 11 bytes":              {tagCost, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1},
		"a field that its message cuts off": {tagLimits, 2, tagName, 5, 'a', 'b', 'c', 'd', 'e'},
		"a tag alone":                       {tagKey},
	} {
		t.Run(what, func(t *testing.T) {
			sameCheck(t, data)
			whole := protowire.AppendBytes([]byte{tagChecks}, data)
			sameBatch(t, whole)
			check := protowire.AppendBytes([]byte{tagCheck}, data)
			sameStream(t, protowire.AppendBytes([]byte{tagChecks}, append(check, check...))) // merged
			sameStream(t, protowire.AppendBytes([]byte{tagChecks}, append(check, tagID, 7)))
			sameStream(t, protowire.AppendBytes([]byte{tagChecks}, append(check, tagTrace, 1, 's', tagTrace, 1, 't')))
			sameSettle(t, data)
			settlement := protowire.AppendBytes([]byte{tagSettlement}, data)
			sameStream(t, protowire.AppendBytes([]byte{tagSettlements}, append(settlement, settlement...)))
			sameStream(t, protowire.AppendBytes([]byte{tagSettlements}, append(settlement, tagSettlementID, 7)))
		})
	}
}

// TestDecodeTooMany checks that too many requests are counted and looked through, but not kept.
func TestDecodeTooMany(t *testing.T) {
	for _, n := range []int{limit.MaxBatch, limit.MaxBatch + 1, 3 * limit.MaxBatch} {
		requests := make([]limit.Request, n)
		for i := range requests {
			requests[i] = sampleRequest(i)
		}
		data := wireBatch(t, requests)
		sameBatch(t, data)
		sameStream(t, data)
		sameBatch(t, data[:len(data)-1]) // the last one is malformed
		sameStream(t, data[:len(data)-1])
		for range 2 {
			data = append(data, protowire.AppendBytes([]byte{tagSettlements}, []byte{tagSettlementID, 7})...)
			sameStream(t, data)
		}
	}
}

// TestDecodedLimitsAreApart checks that requests whose limits lie in one slab do not get at each other's.
func TestDecodedLimitsAreApart(t *testing.T) {
	var in BatchIn
	if err := in.UnmarshalWire(wireBatch(t, []limit.Request{sampleRequest(1), sampleRequest(2)})); err != nil {
		t.Fatal(err)
	}
	_ = append(in.Requests[0].Limits, limit.Named("another"))
	if got := in.Requests[1].Limits[0].Name; got != "login" {
		t.Errorf("the second request's limit became %q", got)
	}
}

// unusual are requests that use all that there is.
func unusual() []limit.Request {
	burst := limit.Inline(limit.Limit{
		Name: "burst", Algorithm: "token-bucket", Capacity: 10, OnUnavailable: limit.Deny,
		Refill: limit.Refill{Tokens: 1, Per: time.Second},
	})
	return []limit.Request{
		sampleRequest(42),
		{Key: "a/b", Cost: 3, ID: "id", Receipt: true, Limits: []limit.Ref{burst}},
		{Key: "w", Limits: []limit.Ref{limit.Inline(limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: 7, Window: time.Minute, MaxWait: time.Second})}, Wait: time.Second},
		{Key: "m", Limits: []limit.Ref{limit.Inline(limit.Limit{
			Name: "monthly", Algorithm: limit.FixedWindow, Capacity: 7, Per: "month", Timezone: "Europe/Berlin", Anchor: "15",
		})}},
		{Key: "x", Limits: []limit.Ref{
			limit.Inline(limit.Limit{Name: "smooth", Algorithm: limit.SlidingWindow, Capacity: 7, Window: time.Minute, Weighted: true}),
			limit.Inline(limit.Limit{Name: "streams", Algorithm: limit.Concurrency, Capacity: 7, Lease: time.Minute}),
		}},
		{Key: "h", Cost: 3000, Limits: []limit.Ref{limit.Named("tokens")}, Hold: time.Minute, Least: 100},
		{Key: "d", Limits: []limit.Ref{limit.Inline(limit.Limit{
			Name: "tokens", Capacity: 7, Holds: limit.Holds{Longest: time.Minute, OnExpiry: limit.Free, MaxDebt: limit.NoDebt},
		})}},
		{Key: "r", Limits: []limit.Ref{limit.Inline(limit.Limit{Name: "exact", Capacity: 7, Reserve: limit.ReserveExact})}},
		{Key: "l", Cost: 9, Limits: []limit.Ref{limit.Named("tokens")}, Lease: &limit.LeaseAsk{Life: time.Second, Now: 7, Terms: 1 << 63, Edge: "edge"}},
		{Key: "k\xff", Cost: -1, Limits: []limit.Ref{limit.Named("login"), burst, limit.Named("lo\xffgin")}},
		{},
	}
}

func FuzzDecodeCheck(f *testing.F) {
	for _, r := range unusual() {
		seed(f, EncodeRequest(r))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sameCheck(t, data) })
}

func FuzzDecodeBatch(f *testing.F) {
	seed(f, encodeBatch(unusual()))
	seed(f, encodeBatch(unusual()[:1]))
	f.Fuzz(func(t *testing.T, data []byte) { sameBatch(t, data) })
}

func FuzzDecodeStream(f *testing.F) {
	m := &CheckStreamRequest{}
	for i, r := range unusual() {
		m.Checks = append(m.Checks, &StreamCheck{Id: uint64(i) << 20, Check: EncodeRequest(r)})
	}
	seed(f, m)
	hold := limit.Hold{Key: "k", Granted: 3000, Limits: []limit.Held{{Limit: "tokens", Generation: 1, ID: 7}}}
	for i, s := range []limit.Settlement{{Hold: hold, Used: 1200}, {Hold: hold, Used: -1, Open: true, For: time.Minute}, {}} {
		m.Settlements = append(m.Settlements, &StreamSettlement{Id: uint64(i), Settlement: EncodeSettlement(s)})
	}
	seed(f, m)
	f.Fuzz(func(t *testing.T, data []byte) { sameStream(t, data) })
}

func wireBatch(tb testing.TB, requests []limit.Request) []byte {
	tb.Helper()
	data, err := proto.Marshal(encodeBatch(requests))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestGivenUpIsBounded reads one id more than a stream may have unanswered, and no other, packed or not: else a byte of a message would become eight.
func TestGivenUpIsBounded(t *testing.T) {
	data, err := proto.Marshal(&CheckStreamRequest{GivenUp: make([]uint64, 100*limit.MaxBatch)})
	if err != nil {
		t.Fatal(err)
	}
	for form, data := range map[string][]byte{"packed": data, "one by one": bytes.Repeat([]byte{tagGivenUp, 1}, 100*limit.MaxBatch)} {
		var m StreamIn
		if err := m.UnmarshalWire(data); err != nil || len(m.GivenUp) != limit.MaxBatch+1 {
			t.Errorf("%s: %d ids and %v", form, len(m.GivenUp), err)
		}
	}
}
