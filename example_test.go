package jeton_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/jeton-dev/jeton"
)

// A client asks a cluster, here of one node with the limit demo: capacity 10, refill 10/1h.
func Example() {
	server, stop := serve("limits: {demo: {capacity: 10, refill: 10/1h}}")
	defer stop()

	cluster, err := jeton.Dial(jeton.Config{Servers: []string{server}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close() //nolint:errcheck // every check was answered

	for range 3 {
		d, err := cluster.Check(context.Background(), jeton.Request{
			Key: "user:42", Limits: []jeton.Ref{jeton.Named("demo")}, Cost: 4,
		})
		if err != nil {
			fmt.Println("no decision; the program chooses whether the user passes:", err)
			return
		}
		demo := d.Limits[0]
		fmt.Printf("allowed: %v, remaining: %d, retry after: %v\n", d.Allowed, demo.Remaining, demo.RetryAfter.Round(time.Minute))
	}

	// Output:
	// allowed: true, remaining: 6, retry after: 0s
	// allowed: true, remaining: 2, retry after: 0s
	// allowed: false, remaining: 2, retry after: 12m0s
}

// A program that limits by itself, with a limit that the request defines. What it has admitted survives its restart.
func ExampleOpen() {
	data, err := os.MkdirTemp("", "jeton")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(data) //nolint:errcheck // of the example alone

	once := jeton.Limit{Name: "once", Capacity: 1, Refill: jeton.Refill{Tokens: 1, Per: time.Hour}}
	for range 2 { // two lives of the program
		node, err := jeton.Open(jeton.NodeConfig{Data: data, Logger: slog.New(slog.DiscardHandler)})
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

// A request can define its limits. All of them admit it, or none is charged.
func ExampleInline() {
	server, stop := serve("limits: {}")
	defer stop()
	cluster, err := jeton.Dial(jeton.Config{Servers: []string{server}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close() //nolint:errcheck // every check was answered

	refill, err := jeton.ParseRefill("100/1h")
	if err != nil {
		fmt.Println(err)
		return
	}
	burst := jeton.Inline(jeton.Limit{Name: "burst", Capacity: 2, Refill: refill})
	total := jeton.Inline(jeton.Limit{Name: "total", Capacity: 100, Refill: refill})
	for range 3 {
		d, err := cluster.Check(context.Background(), jeton.Request{Key: "user:42", Limits: []jeton.Ref{burst, total}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("allowed:", d.Allowed, "total remaining:", d.Limits[1].Remaining)
	}
	// Output:
	// allowed: true total remaining: 99
	// allowed: true total remaining: 98
	// allowed: false total remaining: 98
}

// A denial is no error. An error says why there is no decision.
func ExampleChecker() {
	server, stop := serve("limits: {}")
	defer stop()
	cluster, err := jeton.Dial(jeton.Config{Servers: []string{server}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close() //nolint:errcheck // every check was answered

	var checker jeton.Checker = cluster
	for _, key := range []string{"user:42", ""} {
		_, err := checker.Check(context.Background(), jeton.Request{Key: key, Limits: []jeton.Ref{jeton.Named("demo")}})
		var wrong *jeton.FieldError
		switch {
		case errors.Is(err, jeton.ErrUnknownLimit):
			fmt.Println("the cluster has no such limit")
		case errors.As(err, &wrong):
			fmt.Println("the request is wrong:", wrong)
		}
	}
	// Output:
	// the cluster has no such limit
	// the request is wrong: key: is empty: name what is limited, such as user:42
}

// A gateway in front of an HTTP handler: its document says who is limited, and by which limits.
func ExampleMiddleware() {
	server, stop := serve("limits: {api: {capacity: 2, refill: 1/h, on_unavailable: deny}}")
	defer stop()
	cluster, err := jeton.Dial(jeton.Config{Servers: []string{server}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close() //nolint:errcheck // every check was answered

	path := write("gateway.yaml", "cluster: {decide_within: 10s}\nidentity: {key: ['ip:{ip}']}\nroutes: [{name: all, path: /, checks: [{limits: [api]}]}]\n")
	defer os.RemoveAll(filepath.Dir(path)) //nolint:errcheck // of the example alone
	document, err := jeton.ReadDocument(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	limits, err := jeton.NewGateway(jeton.GatewayConfig{Document: document, Checker: cluster, Limits: cluster.Limits})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limits.Close()
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	handler := jeton.Middleware(limits)(api)

	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", http.NoBody))
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 429
}

// serve stands for "jeton serve".
func serve(limits string) (server string, stop func()) {
	path := write("limits.yaml", limits)
	dir := filepath.Dir(path)
	node, err := jeton.Open(jeton.NodeConfig{
		Data: filepath.Join(dir, "data"), Limits: path, Durability: jeton.Memory, ListenGRPC: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	return node.GRPCAddr(), func() {
		if err := errors.Join(node.Close(context.Background()), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

// write makes a file in a folder of its own.
func write(name, text string) (path string) {
	dir, err := os.MkdirTemp("", "jeton")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	return path
}
