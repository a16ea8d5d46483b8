package rpc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// The pages of any overrides, in any order, are all of them in their order, each once.
func TestPagesOfOverrides(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 3))
	for _, n := range []int{0, 1, maxPage - 1, maxPage, maxPage + 1, 4 * maxPage, 4*maxPage + 1, 9*maxPage + 7} {
		all := make([]cluster.OverrideStatus, n)
		for i := range all {
			all[i] = cluster.OverrideStatus{Limit: fmt.Sprint("limit", i%3), Key: fmt.Sprintf("key with spaces %d", random.Uint64()), Says: "deny"}
		}
		var listed []cluster.OverrideStatus
		pages := 0
		for after := ""; ; {
			first, err := newFirst(after)
			if err != nil {
				t.Fatal(err)
			}
			random.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
			for _, o := range all {
				first.add(o)
			}
			if len(first.some) > 4*maxPage {
				t.Fatalf("seed %d: it keeps %d for one page", seed, len(first.some))
			}
			page := first.page()
			pages++
			listed = append(listed, page.Overrides...)
			if after = page.Next; after == "" {
				break
			}
		}
		slices.SortFunc(all, cluster.OverrideStatus.Compare)
		if want := max(1, (n+maxPage-1)/maxPage); pages != want || n > 0 && !reflect.DeepEqual(listed, all) || len(listed) != n {
			t.Errorf("seed %d: of %d overrides %d are listed in %d pages, want %d", seed, n, len(listed), pages, want)
		}
	}
	if _, err := newFirst("login"); err == nil {
		t.Error("a next that is none is taken")
	} else {
		wantText(t, err, `after: "login" names no override: send what the page before has as next`)
	}
}

// What cannot have an override is refused before anything is written down; where there is none, and may be one, that is answered.
func TestUnsetOverrideOfNothing(t *testing.T) {
	doc := conformance.NewDocument(t)
	a := admin{limits: func() *limit.Document { return doc }, cluster: cluster1(t, "limits: {}\n")}
	for field, asked := range map[string]*pb.UnsetOverrideRequest{
		"limit": {Limit: strings.Repeat("x", limit.MaxName+1), Key: "k"},
		"key":   {Limit: "login", Key: strings.Repeat("x", limit.MaxKey+1)},
	} {
		_, err := a.UnsetOverride(t.Context(), asked)
		if wrong, is := errors.AsType[*limit.FieldError](err); !is || wrong.Field != field {
			t.Errorf("a long %s: %v", field, err)
		}
	}
	if m, err := a.UnsetOverride(t.Context(), &pb.UnsetOverrideRequest{Limit: "gone", Key: "user:*"}); err != nil || m.GetWas() {
		t.Errorf("none is set there: %v, %v", m, err)
	}
}
