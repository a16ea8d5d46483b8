package gubernator

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The names and keys are where buckets are, also of nodes of other releases: they stay as they are.
func TestNamesAndKeysStay(t *testing.T) {
	long := strings.Repeat("ü", 300)
	for _, tt := range []struct{ of, name, key string }{
		{"requests_per_second", "gub.requests_per_second", "requests_per_second"},
		{"account:1234", "gub-account-1234-j3e4wbsqrfjafjiy2ap3msmegdgvm2pq", "account:1234"},
		{"-", "gub.-", "-"},
		{strings.Repeat("n", 60), "gub." + strings.Repeat("n", 60), strings.Repeat("n", 60)},
		{
			strings.Repeat("n", 61), "gub-" + strings.Repeat("n", 27) + "-pyliro5huqj6qrg7mzfemsez7li3ueug", strings.Repeat("n", 61),
		},
		{long, "gub-" + strings.Repeat("-", 14) + "-s2jcfzoj2tvgmmhp4uvdezrna6j67jph", long[:440] + "~sha256:969222e5c9d4ea6630efe52a32662d0793efa5e778c2e17b1e5769b621ae4e86"},
	} {
		if name := limitName(tt.of); name != tt.name {
			t.Errorf("the limit of %.70q is %s, want %s", tt.of, name, tt.name)
		}
		if key := bucketKey(tt.of); key != tt.key {
			t.Errorf("the key of %.70q is %s, want %s", tt.of, key, tt.key)
		}
	}
}

// A key that looks like the digest of another one is none.
func TestNobodyHasTheBucketOfALongKey(t *testing.T) {
	long := strings.Repeat("k", limit.MaxKey+1)
	digested := bucketKey(long)
	if again := bucketKey(digested); again == digested {
		t.Errorf("%s is the key of two", again)
	}
	if short := keyMark + strings.Repeat("0", 63); bucketKey(short) != short {
		t.Errorf("%s, which no digest ends like, is not the key itself", short)
	}
}

func FuzzBucket(f *testing.F) {
	for _, seed := range []string{"", "a", "account:1234", "requests per second", strings.Repeat("x", 61), strings.Repeat("é", 300), "a\xff", "~sha256:" + strings.Repeat("0", 64)} {
		f.Add(seed, seed+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == "" || b == "" {
			return
		}
		for _, s := range []string{a, b} {
			if err := limit.ValidateKey(bucketKey(s)); err != nil {
				t.Errorf("key of %q: %v", s, err)
			}
			l := limit.Limit{Name: limitName(s), Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: 1}}
			if err := (limit.Request{Key: "k", Limits: []limit.Ref{limit.Inline(l)}, Cost: 1}).Validate(); err != nil {
				t.Errorf("limit of %q: %v", s, err)
			}
		}
		if a != b && (bucketKey(a) == bucketKey(b) || limitName(a) == limitName(b)) {
			t.Errorf("%q and %q share a bucket", a, b)
		}
	})
}
