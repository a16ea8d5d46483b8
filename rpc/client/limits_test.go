package client_test

import (
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// limited is the cluster's table with a limits document.
func limited(f *fakenodes.Cluster, version, limits uint64, text string) *pb.View {
	v := f.Table(version)
	v.LimitsVersion, v.Limits = limits, []byte(text)
	return v
}

// TestLimitsInForce hears of limits without asking for anything else, and of each change.
func TestLimitsInForce(t *testing.T) {
	f := &fakenodes.Cluster{Book: fakenodes.NewBook()}
	f.Nodes = []*fakenodes.Node{fakenodes.Start(t, 0, "", f.Book)}
	c := connect(t, client.Config{Servers: f.Servers()})
	if c.Limits() != nil {
		t.Error("there are limits before any were heard")
	}
	select {
	case <-c.Heard():
		t.Error("heard before anybody said something")
	default:
	}

	f.Publish(limited(f, 1, 1, "limits:\n  a: {capacity: 1, refill: 1/s}\n"))
	<-c.Heard()
	first := c.Limits()
	if rule, ok := first.Rule("a"); !ok || rule.Capacity != 1 || c.Version() != 1 {
		t.Fatalf("limits %+v with table %d", first, c.Version())
	}

	f.Publish(limited(f, 2, 1, "limits:\n  a: {capacity: 1, refill: 1/s}\n"))
	await(t, "the table changes", func() bool { return c.Version() == 2 })
	if c.Limits() != first {
		t.Error("the same limits were read twice")
	}

	f.Publish(limited(f, 3, 2, "limits:\n  a: {capacity: 2, refill: 1/s}\n"))
	await(t, "the limits change", func() bool { return c.Limits() != first })
	second := c.Limits()
	if rule, ok := second.Rule("a"); !ok || rule.Capacity != 2 {
		t.Errorf("limits %+v after the change", second)
	}

	f.Publish(limited(f, 4, 3, "limits:\n  a: {capacity: 2, refill: 1/s, algorithm: of-tomorrow}\n"))
	await(t, "the table changes", func() bool { return c.Version() == 4 })
	if c.Limits() != second {
		t.Error("limits that nobody here understands have taken the place of others")
	}

	f.Publish(limited(f, 5, 4, "limits: {}\n"))
	await(t, "the limits go", func() bool { return c.Limits() != second })
	if n := len(c.Limits().Rules()); n != 0 {
		t.Errorf("%d limits after all were taken away", n)
	}
}

// TestLimitsThatCannotBeRead are heard, and are none.
func TestLimitsThatCannotBeRead(t *testing.T) {
	f := &fakenodes.Cluster{Book: fakenodes.NewBook()}
	f.Nodes = []*fakenodes.Node{fakenodes.Start(t, 0, "", f.Book)}
	c := connect(t, client.Config{Servers: f.Servers()})
	f.Publish(limited(f, 1, 1, "limit: {}"))
	<-c.Heard()
	if c.Limits() != nil {
		t.Error("there are limits that cannot be read")
	}
}
