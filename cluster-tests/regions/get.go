package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// get sends a request, and says how long it took until the answer was read.
func get(ctx context.Context, client *http.Client, url string, headers map[string]string) (l time.Duration, status int, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	for name, value := range headers {
		q.Header.Set(name, value)
	}
	since := time.Now()
	a, err := client.Do(q)
	if err != nil {
		return 0, 0, err
	}
	_, err = io.Copy(io.Discard, a.Body)
	return time.Since(since), a.StatusCode, errors.Join(err, a.Body.Close())
}
