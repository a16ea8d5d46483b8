package gubernator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// An item is one that is to be decided.
type item struct {
	key   string
	refs  []limit.Ref // one
	hits  int64       // 0 looks
	limit int64       // of the request

	reset bool // fill the bucket, and take nothing
	drain bool // if it is denied, take what is left
	// whole says that answers tell when the whole bucket is there again, also those of denials.
	whole bool

	result limit.Result
}

// A reader reads the items of a request, most of which define the limit of the one before.
type reader struct {
	stored *limit.Document

	name, limitName string // gubernator's, and the limit's
	limit           limit.Limit
	refs            []limit.Ref // one
}

// named is the name of the limit that gubernator calls name.
func (r *reader) named(name string) string {
	if r.name != name {
		r.name, r.limitName = name, limitName(name)
	}
	return r.limitName
}

// inline is a reference to l.
func (r *reader) inline(l *limit.Limit) []limit.Ref {
	if r.refs == nil || r.limit != *l {
		r.limit, r.refs = *l, []limit.Ref{limit.Inline(*l)}
	}
	return r.refs
}

// read reads an item. Its errors are for the answer.
func (r *reader) read(m *gubernatorpb.RateLimitReq) (*item, error) {
	switch {
	case m.GetUniqueKey() == "":
		return nil, invalidError("field 'unique_key' cannot be empty")
	case m.GetName() == "":
		return nil, invalidError("field 'namespace' cannot be empty")
	case m.GetHits() < 0:
		return nil, invalidError(fmt.Sprintf("field 'hits' cannot be negative: %d; "+
			"hits are given back by the receipts of jeton's own API, POST /v1/check and /v1/return", m.GetHits()))
	case m.GetLimit() < 0:
		return nil, invalidError(fmt.Sprintf("field 'limit' cannot be negative: %d; 0 lets nothing pass", m.GetLimit()))
	}
	s, err := spanOf(m)
	if err != nil {
		return nil, err
	}
	l, err := limitOf(m, r.named(m.GetName()), s)
	if err != nil {
		return nil, err
	}
	it := &item{
		key: bucketKey(m.GetUniqueKey()), refs: r.inline(&l), hits: m.GetHits(), limit: m.GetLimit(),
		reset: has(m, gubernatorpb.Behavior_RESET_REMAINING), drain: has(m, gubernatorpb.Behavior_DRAIN_OVER_LIMIT),
		whole: m.GetAlgorithm() == gubernatorpb.Algorithm_LEAKY_BUCKET,
	}
	if r.stored != nil {
		if rule, ok := r.stored.Rule(l.Name); ok {
			if it.reset {
				return nil, invalidError(fmt.Sprintf("field 'behavior' cannot have RESET_REMAINING: limit %s is stored, and operators fill its buckets, "+
					"as jeton bucket %s KEY --fill does", l.Name, l.Name))
			}
			it.refs, it.limit = []limit.Ref{limit.Named(l.Name)}, rule.Capacity
		}
	}
	if it.reset {
		it.hits = 0
	}
	if it.limit == 0 {
		it.result.Decision = nothing(it, s)
	}
	return it, nil
}

// nothing is the decision by a limit of 0: what asks for hits is denied.
func nothing(it *item, s span) limit.Decision {
	allowed := it.hits == 0
	return limit.Decision{Allowed: allowed, Limits: []limit.Outcome{{Name: it.refs[0].Name, Allowed: allowed, Never: !allowed, ResetAfter: s.length}}}
}

// decided says whether it needs no check.
func (it *item) decided() bool { return it.result.Err != nil || len(it.result.Decision.Limits) > 0 }

// request is the check of it.
func (it *item) request(hits int64) limit.Request {
	return limit.Request{Key: it.key, Limits: it.refs, Cost: hits, Look: hits == 0}
}

// denied says whether it was denied, and how much is left.
func (it *item) denied() (left int64, denied bool) {
	if it.result.Err != nil || it.result.Decision.Allowed || len(it.result.Decision.Limits) == 0 {
		return 0, false
	}
	return it.result.Decision.Limits[0].Remaining, true
}

// named are the fields of an item by those of the limit that is made of it.
var named = map[string]string{"capacity": "limit", "limit": "limit", "refill": "limit", "window": "duration", "per": "duration"}

// asItem is err with the item's name of the field, if it is about one.
func asItem(err error) error {
	fe, ok := errors.AsType[*limit.FieldError](err)
	if !ok {
		return err
	}
	if field, ok := named[fe.Field[strings.LastIndexByte(fe.Field, '.')+1:]]; ok {
		return invalidError(fmt.Sprintf("field '%s': %s", field, fe.Problem))
	}
	return invalidError(fe.Error())
}
