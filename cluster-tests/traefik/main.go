// Command traefik is Traefik's rate limiter, as it is in Traefik, before an application that answers 200 to all. It is a module of its own, so
// that what jeton is built of stays what jeton needs.
//
//	traefik --listen ADDRESS --redis ADDRESS --average N --period DURATION --burst N
//
// A client is who the header X-Client says. It prints a line when it listens.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	ptypes "github.com/traefik/paerser/types"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/middlewares/ratelimiter"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:0", "the address at which it listens")
	redis := flag.String("redis", "127.0.0.1:7706", "the address of what speaks Redis' protocol")
	average := flag.Int64("average", 1, "requests in a period")
	period := flag.Duration("period", time.Second, "the period")
	burst := flag.Int64("burst", 1, "requests at once")
	flag.Parse()
	application := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	limited, err := ratelimiter.New(context.Background(), application, dynamic.RateLimit{
		Average: *average, Period: ptypes.Duration(*period), Burst: *burst,
		SourceCriterion: &dynamic.SourceCriterion{RequestHeaderName: "X-Client"},
		Redis:           &dynamic.Redis{Endpoints: []string{*redis}},
	}, "limited")
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening at", l.Addr())
	return (&http.Server{Handler: limited, ReadHeaderTimeout: time.Minute}).Serve(l)
}
