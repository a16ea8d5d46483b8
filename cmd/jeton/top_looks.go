package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jeton-dev/jeton/cmd/jeton/top"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
)

// looks ask a cluster what it does, again and again. One question is under way at a time.
type looks struct {
	remote *remote
	client *client.Client
	before activity.Look
}

// next is what the cluster did since the last look; nil if nodes still answer with that one.
func (l *looks) next(ctx context.Context) (*activity.View, error) {
	var after activity.Look
	err := l.remote.ask(ctx, func(ctx context.Context) error {
		text, err := l.client.Activity(ctx)
		if err != nil {
			return err
		}
		return understood(json.Unmarshal(text, &after))
	})
	if err != nil || after.At.Equal(l.before.At) {
		return nil, err
	}
	v := activity.Compare(l.before, after)
	l.before = after
	return &v, nil
}

// mostFound is how many keys a search finds at most.
const mostFound = 200

// search looks for keys in the cluster.
func (l *looks) search(ctx context.Context, asked top.Search) *top.Found {
	found := &top.Found{Search: asked}
	err := l.remote.ask(ctx, func(ctx context.Context) error {
		text, err := l.client.Keys(ctx, client.KeysAsked{Prefix: asked.Prefix, Limit: asked.Limit, Most: mostFound})
		if err != nil {
			return err
		}
		return understood(json.Unmarshal(text, found))
	})
	if err != nil {
		found.Error = err.Error()
	}
	return found
}

// understood is the error of an answer that cannot be read.
func understood(err error) error {
	if err != nil {
		return fmt.Errorf("the node speaks another version of jeton: %w", err)
	}
	return nil
}
