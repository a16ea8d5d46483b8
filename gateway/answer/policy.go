package answer

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// maxPolicies bounds the policies that a Writer caches. A change of limits makes new rules; when there are more than this, the
// cache is cleared and fills again on demand.
const maxPolicies = 1024

// policy is the part of the headers that does not change from check to check.
type policy struct {
	of   string // as the quota names its limit
	name string // as a structured field's string: "login"
	item string // of RateLimit-Policy: "login";q=10;w=10
}

// policies caches the policy of each rule.
type policies struct {
	known sync.Map // *limit.Rule → *policy
	size  atomic.Int64
}

// of is the policy of the quota's rule, or of its outcome alone if the rule is not known.
func (p *policies) of(q *Quota) *policy {
	rule := q.rule()
	if rule == nil {
		return newPolicy(q.Name, q.Limit, 0)
	}
	if found, ok := p.known.Load(rule); ok {
		if made, is := found.(*policy); is && made.of == q.Name { // two clusters may share their limits
			return made
		}
	}
	made := newPolicy(q.Name, rule.Capacity, max(seconds(rule.Fill()), 1))
	if p.size.Add(1) > maxPolicies {
		p.known.Clear()
		p.size.Store(1)
	}
	p.known.Store(rule, made)
	return made
}

// newPolicy makes the policy of a limit whose bucket fills in that many seconds, rounded up; 0 if that is not known.
func newPolicy(name string, capacity, fill int64) *policy {
	quoted := appendString(nil, name)
	made := &policy{of: name, name: string(quoted)}
	item := strconv.AppendInt(append(quoted, ";q="...), integer(capacity), 10)
	if fill > 0 {
		item = strconv.AppendInt(append(item, ";w="...), fill, 10)
	}
	made.item = string(item)
	return made
}

// appendString appends s as a structured field's string: RFC 9651, section 3.3.3. What such a string cannot hold, and the
// percent sign, is percent-encoded.
func appendString(out []byte, s string) []byte {
	const digits = "0123456789ABCDEF"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ' || c > '~' || c == '%':
			out = append(out, '%', digits[c>>4], digits[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
