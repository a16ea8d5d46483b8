package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// settings say what is run.
type settings struct {
	link   time.Duration // one way between regions
	length time.Duration // of what is measured
	seed   uint64
}

// An outcome is what came of a recipe.
type outcome struct {
	bare, calm      latencies // of requests without and with checks, sent in turn
	first           latencies // of users who were never seen
	admitted, bound int64     // of one user who is everywhere at once
}

// latencies are sorted.
type latencies []time.Duration

func (l latencies) at(part float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(int(part*float64(len(l))), len(l)-1)]
}

// How requests come while they are measured: each of some users, steadily, at less than their limit.
const (
	users    = 8
	interval = 25 * time.Millisecond // 40 requests a second of each
	warmUp   = 3 * time.Second       // until an edge knows what a key spends
)

// run runs a recipe.
func run(ctx context.Context, r *recipe, s settings) (o *outcome, err error) {
	w, err := newWorld(ctx, r, s.link)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := w.Close(); err == nil {
			err = closing
		}
	}()
	o = &outcome{}
	c := &caller{world: w, recipe: r, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, random: rand.New(rand.NewPCG(s.seed, 0))}
	defer c.client.CloseIdleConnections()
	for i := range 20 { // users who were never seen
		l, status, err := c.ask(ctx, 0, "/", fmt.Sprint("new-", i))
		if err != nil || status != http.StatusOK {
			return nil, fmt.Errorf("a first request: status %d: %w", status, err)
		}
		o.first = append(o.first, l)
	}
	slices.Sort(o.first)
	if _, _, err := c.steadily(ctx, min(warmUp, s.length)); err != nil {
		return nil, err
	}
	if o.bare, o.calm, err = c.steadily(ctx, s.length); err != nil {
		return nil, err
	}
	o.admitted, o.bound, err = c.flood(ctx, s.length/2)
	return o, err
}

// A caller sends requests to the gateways of a world.
type caller struct {
	*world
	*recipe

	client *http.Client
	random *rand.Rand
}

// ask sends one request of a user to a gateway, and says how long it took.
func (c *caller) ask(ctx context.Context, gateway int, path, user string) (l time.Duration, status int, err error) {
	return get(ctx, c.client, "http://"+c.gateways[gateway].ProxyAddr()+path, map[string]string{"X-User": user, "X-Cell": here})
}

// steadily sends requests of all users to the gateway here, in turn without and with checks, and measures those that pass.
func (c *caller) steadily(ctx context.Context, length time.Duration) (bare, checked latencies, err error) {
	var mu sync.Mutex
	var sending sync.WaitGroup
	end := time.Now().Add(length)
	for u := range users {
		begin := time.Duration(c.random.Int64N(int64(interval)))
		sending.Go(func() {
			<-time.After(begin)
			for next := time.Now(); next.Before(end); next = next.Add(interval) {
				<-time.After(time.Until(next))
				without, _, failed := c.ask(ctx, 0, "/open", "")
				with, status, failedToo := c.ask(ctx, 0, "/", fmt.Sprint("user-", u))
				mu.Lock()
				if failed = errors.Join(failed, failedToo); failed != nil {
					err = failed
				}
				if status == http.StatusOK {
					bare, checked = append(bare, without), append(checked, with)
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	slices.Sort(bare)
	slices.Sort(checked)
	return bare, checked, err
}

// flood sends requests of one user to both gateways as fast as they are answered, and counts those that pass.
func (c *caller) flood(ctx context.Context, length time.Duration) (admitted, bound int64, err error) {
	var sending sync.WaitGroup
	var passed atomic.Int64
	var failed atomic.Pointer[error]
	since := time.Now()
	for g := range c.gateways {
		for range 8 {
			sending.Go(func() {
				for time.Since(since) < length {
					_, status, err := c.ask(ctx, g, "/", "everywhere")
					if err != nil {
						failed.Store(&err)
						return
					}
					if status == http.StatusOK {
						passed.Add(1)
					}
				}
			})
		}
	}
	sending.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	return passed.Load(), int64(math.Ceil(c.bound(time.Since(since).Seconds()))), nil
}
