package limit_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

func named(n int) []limit.Ref {
	refs := make([]limit.Ref, n)
	for i := range refs {
		refs[i] = limit.Named(fmt.Sprintf("limit-%d", i))
	}
	return refs
}

func TestValidate(t *testing.T) {
	burst := limit.Limit{Name: "burst", Capacity: 3, Refill: perSecond(1)}
	for name, r := range map[string]limit.Request{
		"plain":          {Key: "user:42", Limits: named(1), Cost: 1},
		"a peek":         {Key: "user:42", Limits: named(1)},
		"greatest cost":  {Key: "user:42", Limits: named(1), Cost: math.MaxInt64},
		"shortest key":   {Key: "k", Limits: named(1), Cost: 1},
		"longest key":    {Key: strings.Repeat("k", 512), Limits: named(1), Cost: 1},
		"any UTF-8":      {Key: "ip:2001:db8::/64 \x00 ü 🪙", Limits: named(1), Cost: 1},
		"most limits":    {Key: "user:42", Limits: named(16), Cost: 1},
		"an inline one":  {Key: "user:42", Limits: []limit.Ref{limit.Named("login"), limit.Inline(burst)}, Cost: 1},
		"longest name":   {Key: "user:42", Limits: []limit.Ref{limit.Named("A9" + strings.Repeat("_", 62))}, Cost: 1},
		"names by case":  {Key: "user:42", Limits: []limit.Ref{limit.Named("a"), limit.Named("A")}, Cost: 1},
		"longest id":     {Key: "user:42", Limits: named(1), Cost: 1, ID: strings.Repeat("i", 128)},
		"every sign":     {Key: "user:42", Limits: []limit.Ref{limit.Named("0a.Z-_9.")}, Cost: 1},
		"receipt wanted": {Key: "user:42", Limits: named(1), Cost: 1, Receipt: true},
		"no cost":        {Key: "user:42", Limits: named(1)},
		"look":           {Key: "user:42", Limits: named(1), Look: true},
	} {
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateInvalid(t *testing.T) {
	burst := limit.Limit{Name: "burst", Capacity: 3, Refill: perSecond(1)}
	for name, c := range map[string]struct {
		change     func(*limit.Request)
		field, fix string
	}{
		"empty key":       {func(r *limit.Request) { r.Key = "" }, "key", "name what is limited, such as user:42"},
		"long key":        {func(r *limit.Request) { r.Key = strings.Repeat("k", 513) }, "key", "513 bytes are too many: at most 512"},
		"invalid key":     {func(r *limit.Request) { r.Key = "user:\xff" }, "key", "not valid UTF-8"},
		"a surrogate":     {func(r *limit.Request) { r.Key = "\xed\xa0\x80" }, "key", "not valid UTF-8"},
		"no limits":       {func(r *limit.Request) { r.Limits = nil }, "limits", "name at least one limit"},
		"too many limits": {func(r *limit.Request) { r.Limits = named(17) }, "limits", "17 limits are too many: at most 16"},
		"a limit twice":   {func(r *limit.Request) { r.Limits = append(named(3), limit.Named("limit-1")) }, "limits[3]", `"limit-1" is named twice`},
		"twice inline": {
			func(r *limit.Request) { r.Limits = []limit.Ref{limit.Named("burst"), limit.Inline(burst)} },
			"limits[1]", `"burst" is named twice`,
		},
		"a limit without name": {func(r *limit.Request) { r.Limits = append(named(1), limit.Ref{}) }, "limits[1].name", "name the limit, such as login"},
		"a long name":          {func(r *limit.Request) { r.Limits[0].Name = strings.Repeat("n", 65) }, "limits[0].name", "65 bytes are too many: at most 64"},
		"a name with a slash":  {func(r *limit.Request) { r.Limits[0].Name = "a/b" }, "limits[0].name", "letters, digits, dots, dashes and underscores"},
		"a name with a dot":    {func(r *limit.Request) { r.Limits[0].Name = ".a" }, "limits[0].name", "start with a letter or digit"},
		"a name in German":     {func(r *limit.Request) { r.Limits[0].Name = "größe" }, "limits[0].name", "letters, digits, dots, dashes and underscores"},
		"an inline one wrong": {
			func(r *limit.Request) { r.Limits[0] = limit.Inline(limit.Limit{Name: "burst", Refill: perSecond(1)}) },
			"limits[0].capacity", "at least 1 token",
		},
		"an inline one without refill": {
			func(r *limit.Request) {
				r.Limits = append(r.Limits, limit.Inline(limit.Limit{Name: "burst", Capacity: 1}))
			},
			"limits[1].refill", "write n/duration, such as 5/s",
		},
		"an inline one under another name": {
			func(r *limit.Request) { r.Limits[0].Name, r.Limits[0].Inline = "login", &burst },
			"limits[0].name", `"login" defines the limit "burst": use one name`,
		},
		"negative cost": {func(r *limit.Request) { r.Cost = -1 }, "cost", "-1 is negative: use 1 or more tokens"},
		"look and cost": {func(r *limit.Request) { r.Look = true }, "cost", "a look takes no tokens: leave the cost out"},
		"least cost":    {func(r *limit.Request) { r.Cost = math.MinInt64 }, "cost", "use 1 or more tokens"},
		"a long id":     {func(r *limit.Request) { r.ID = strings.Repeat("i", 129) }, "request_id", "129 bytes are too many: at most 128"},
		"invalid id":    {func(r *limit.Request) { r.ID = "\xff" }, "request_id", "not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			r := limit.Request{Key: "user:42", Limits: named(1), Cost: 1}
			c.change(&r)
			wantFieldError(t, r.Validate(), c.field, c.fix)
		})
	}
}
