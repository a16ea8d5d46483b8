package main

import "github.com/jeton-dev/jeton/actor/limit"

// The names of the clusters of recipes.
const (
	here      = "here"      // in the region of the requests that are measured
	elsewhere = "elsewhere" // in another region: a link leads to it
)

// A recipe is a way to limit requests in two regions.
type recipe struct {
	name string
	// limits are those of each cluster that there is, by its name.
	limits map[string]string
	// checks are those of a gateway here, and of one in the other region; both ask the clusters by their names. Empty: the users of the other region
	// are others.
	checks, theirs string
	// bound is how much of one key may be admitted, in seconds, at both gateways together.
	bound func(seconds float64) float64
}

// The limit of each user in the recipes: so many requests at once, and a second.
const (
	burst = 100
	rate  = 50
)

// within is what a limit lets pass in some seconds, counted so often.
func within(times, capacity, refill float64) func(float64) float64 {
	return func(seconds float64) float64 { return times * (capacity + refill*seconds) }
}

// recipes are all there are.
func recipes() []*recipe {
	user := func(more string) string {
		return "limits: {user: {capacity: 100, refill: 50/s, on_unavailable: deny" + more + "}}"
	}
	leased := ", consistency: " + string(limit.Leased)
	return []*recipe{
		{
			name:   "independent regions",
			limits: map[string]string{here: user(""), elsewhere: user("")},
			checks: "{cluster: here, limits: [user]}", theirs: "{cluster: elsewhere, limits: [user]}",
			bound: within(2, burst, rate),
		},
		{
			name:   "one region leads, `strong`",
			limits: map[string]string{elsewhere: user("")},
			checks: "{cluster: elsewhere, limits: [user]}", theirs: "{cluster: elsewhere, limits: [user]}",
			bound: within(1, burst, rate),
		},
		{
			name:   "one region leads, `leased`",
			limits: map[string]string{elsewhere: user(leased)},
			checks: "{cluster: elsewhere, limits: [user]}", theirs: "{cluster: elsewhere, limits: [user]}",
			bound: within(1, burst, rate),
		},
		{
			name:   "a limit in each region and one of all",
			limits: map[string]string{here: user(""), elsewhere: "limits: {user: {capacity: 150, refill: 60/s, on_unavailable: allow" + leased + "}}"},
			checks: "{cluster: here, limits: [user]}, {cluster: elsewhere, limits: [user]}", theirs: "{cluster: elsewhere, limits: [user]}",
			bound: within(1, 150, 60),
		},
		{
			name:   "cells: each user belongs to one",
			limits: map[string]string{here: user(""), elsewhere: user("")},
			checks: "{cluster: here, limits: [], choose: {by: header.X-Cell, when: [{is: here, limits: [user]}]}}, " +
				"{cluster: elsewhere, limits: [], choose: {by: header.X-Cell, when: [{is: elsewhere, limits: [user]}]}}",
			bound: within(1, burst, rate),
		},
	}
}
