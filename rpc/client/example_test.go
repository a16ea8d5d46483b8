package client_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/client"
)

func Example() {
	server, stop := startNode() // one with the limit demo: capacity 10, refill 10/1h
	defer stop()

	c, err := client.New(client.Config{Server: server, Timeout: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	for range 3 {
		d, err := c.Check(context.Background(), limit.Request{
			Key: "user:42", Limits: []limit.Ref{limit.Named("demo")}, Cost: 4,
		})
		if err != nil {
			fmt.Println("no decision, it is yours to let the user pass or not:", err)
			return
		}
		demo := d.Limits[0]
		fmt.Printf("allowed: %v, remaining: %d, retry after: %v\n", d.Allowed, demo.Remaining, demo.RetryAfter)
	}

	// Output:
	// allowed: true, remaining: 6, retry after: 0s
	// allowed: true, remaining: 2, retry after: 0s
	// allowed: false, remaining: 2, retry after: 12m0s
}

// All keys of a request may spend, or none does.
func ExampleClient_CheckAll() {
	server, stop := startNode()
	defer stop()

	c, err := client.New(client.Config{Server: server, Timeout: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	demo := []limit.Ref{limit.Named("demo")}
	for range 3 {
		d, err := c.CheckAll(context.Background(), []limit.Request{
			{Key: "user:42", Limits: demo},
			{Key: "org:acme", Limits: demo, Cost: 5},
		})
		switch {
		case err != nil:
			fmt.Println("no decision, it is yours to let the user pass or not:", err)
		case !d.Allowed:
			seconds, _ := d.RetryAfterSeconds()
			fmt.Printf("the limit %s of %s denies: try again in %d s\n", d.Denied.Limit, d.Denied.Key, seconds)
		default:
			fmt.Println("allowed")
		}
	}

	// Output:
	// allowed
	// allowed
	// the limit demo of org:acme denies: try again in 1800 s
}

// startNode stands for "jeton serve", with a clock that stands still.
func startNode() (server string, stop func()) {
	doc, err := limit.ParseDocument([]byte("limits: {demo: {capacity: 10, refill: 10/1h}}"))
	if err != nil {
		log.Fatal(err)
	}
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	s, err := rpc.New(rpc.Config{Limiter: conformance.NewModel(doc, noon.UnixNano)})
	if err != nil {
		log.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return l.Addr().String(), func() {
		if err := s.Stop(context.Background()); err != nil {
			log.Fatal(err)
		}
		if err := <-served; err != nil {
			log.Fatal(err)
		}
	}
}
