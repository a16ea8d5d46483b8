package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring/agreed"
)

// What an operator does at any node stands in the audit log of all, once.
func TestAuditOfOperators(t *testing.T) {
	all := trio(t)
	b := all[1].cluster
	ctx := WithOrigin(t.Context(), Origin{Who: "token ann", From: "10.0.0.7:5331", Detail: "login: capacity 10 → 5"})
	if _, err := b.SetLimits(ctx, 1, []byte("limits: 2")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.SetLimits(ctx, 1, []byte("limits: 3")); !errors.Is(err, agreed.ErrStale) {
		t.Fatal(err)
	}
	if _, err := b.SetLimits(ctx, 2, []byte("limits: 2")); err != nil { // changes nothing
		t.Fatal(err)
	}
	if err := all[2].cluster.Note(WithOrigin(t.Context(), Origin{Who: "cluster key"}), "fill", "login user:1", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.SetLimits(t.Context(), 2, []byte("limits: own")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"token ann 10.0.0.7:5331 b set limits version 2 login: capacity 10 → 5", "cluster key  c fill login user:1 ",
		"the node itself  b set limits version 3 ",
	}
	for _, ch := range all {
		ch.sees("the log", func(s *agreed.State) bool { return s.LimitsVersion == 3 })
		var got []string
		for _, e := range ch.cluster.Audit(0).Entries {
			got = append(got, fmt.Sprintf("%s %s %s %s %s %s", e.Who, e.From, e.Node, e.Verb, e.Object, e.Detail))
			if e.At.IsZero() {
				t.Errorf("%+v has no time", e)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("node %s has\n%s\nwant\n%s", ch.config.Name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		last := ch.cluster.Audit(1)
		if len(last.Entries) != 1 || last.Entries[0].Object != "version 3" || last.Dropped != last.Entries[0].Number-1 {
			t.Errorf("the last entry is %+v", last)
		}
		editions, err := ch.cluster.History(0)
		if err != nil || len(editions) != 3 || !editions[2].InForce || editions[1].InForce || editions[1].Who != "token ann" || editions[1].Document != "" {
			t.Errorf("the history is %+v: %v", editions, err)
		}
		one, err := ch.cluster.History(2)
		if err != nil || len(one) != 1 || one[0].Document != "limits: 2" || one[0].Bytes != 9 {
			t.Errorf("version 2 is %+v: %v", one, err)
		}
		if _, err := ch.cluster.History(7); !errors.Is(err, agreed.ErrUnknownVersion) {
			t.Errorf("version 7: %v", err)
		}
	}
}

// Drains, and what undoes them, and removals carry the names of the nodes.
func TestAuditOfMembers(t *testing.T) {
	a, b := pair(t)
	b.start()
	joined(a, b)
	ctx := WithOrigin(t.Context(), Origin{Who: "cluster key", From: "10.0.0.7:5331"})
	if _, err := a.cluster.Drain(ctx, b.config.ID.String()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.cluster.Drain(ctx, "b"); err != nil { // nothing new
		t.Fatal(err)
	}
	if err := a.cluster.Undrain(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	a.sees("both", func(s *agreed.State) bool { return len(s.Audit) >= 2 })
	var got []string
	for _, e := range a.cluster.Audit(0).Entries {
		got = append(got, e.Verb+" "+e.Object+" "+e.Who)
	}
	if want := "drain b cluster key, undo drain b cluster key"; strings.Join(got, ", ") != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

// However many buckets programs reset, there are few entries, and none is lost in the count.
func TestResetsAreGathered(t *testing.T) {
	r := newResets()
	for i := range 5000 {
		r.add(Origin{Who: "token ann", From: fmt.Sprint("10.0.0.7:", 1000+i)}, int64(100+i), "login", fmt.Sprint("user:", i))
	}
	r.add(Origin{Who: "token ann", From: "no address"}, 7, "login", "user:1")
	for i := range 100 {
		r.add(Origin{Who: fmt.Sprint("token ", i), From: "[::1]:80"}, 9, "login", "user:1")
	}
	<-r.wake
	taken := r.take()
	total := 0
	for _, tally := range taken {
		total += tally.count
	}
	if len(taken) != maxResetGroups+1 || total != 5101 {
		t.Errorf("%d groups of %d resets", len(taken), total)
	}
	all := expecting(1, newRig(t).chairs(1)...)
	startAll(all...)
	c := all[0].cluster
	e := c.resetEntry(resetGroup{"token ann", "10.0.0.7", "login"}, taken[resetGroup{"token ann", "10.0.0.7", "login"}])
	if e.Verb != agreed.VerbReset || e.Object != "5000 buckets of login" || e.Detail != "the first user:0, the last user:4999" || e.At != 100 {
		t.Errorf("%+v", e)
	}
	e = c.resetEntry(resetGroup{}, taken[resetGroup{}])
	if e.Who != "several callers" || e.Object != "94 buckets" {
		t.Errorf("%+v", e)
	}
	c.Resetted(Origin{Who: "token ann", From: "10.0.0.7:5331"}, "login", "user:42")
	all[0].sees("a reset in the log", func(s *agreed.State) bool {
		return len(s.Audit) == 1 && s.Audit[0].Object == "login user:42" && s.Audit[0].Who == "token ann" && s.Audit[0].From == "10.0.0.7:5331"
	})
}
