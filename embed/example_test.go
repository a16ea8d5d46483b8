package embed_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jeton-dev/jeton"
	"github.com/jeton-dev/jeton/embed"
)

// A program that limits by itself, with a limit that the request defines. What it has admitted survives its restart.
func Example() {
	data, err := os.MkdirTemp("", "jeton")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data) //nolint:errcheck // of the example alone

	once := jeton.Limit{Name: "once", Capacity: 1, Refill: jeton.Refill{Tokens: 1, Per: time.Hour}}
	for range 2 { // two lives of the program
		node, err := embed.Open(embed.Config{Data: data, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			fmt.Println(err)
			return
		}
		d, err := node.Check(context.Background(), jeton.Request{Key: "user:42", Limits: []jeton.Ref{jeton.Inline(once)}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("allowed:", d.Allowed)
		if err := node.Close(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// allowed: true
	// allowed: false
}
