package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// leastEvery is how often a node can be asked.
const leastEvery = 200 * time.Millisecond

// checkEvery says of a time between two questions that it is too short.
func checkEvery(every time.Duration) error {
	if every < leastEvery {
		return fmt.Errorf("--every: %v: give %v or more, such as 1s", every, leastEvery)
	}
	return nil
}

// each asks after each interval, until ctx ends or what is answered cannot be written. Questions that fail are told to problems,
// and asked again.
func each[T any](ctx context.Context, every time.Duration, problems io.Writer, ask func(context.Context) (T, error), write func(T) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		switch answer, err := ask(ctx); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			fmt.Fprintln(problems, "jeton:", err)
		default:
			if err := write(answer); err != nil {
				return err
			}
		}
	}
}
