package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/web"
)

// A remote is how a verb reaches a node.
type remote struct {
	server     string
	credential cli.Credential
	timeout    time.Duration
}

func (r *remote) addFlags(cmd *cobra.Command) { r.addFlagsWith(cmd, 5*time.Second) }

// addFlagsWith is addFlags for a verb that waits so long for an answer, if nothing else is said.
func (r *remote) addFlagsWith(cmd *cobra.Command, timeout time.Duration) {
	cmd.Flags().StringVar(&r.server, "server", "127.0.0.1:7700", "gRPC address of a node, or of several, a,b,c; also JETON_SERVER")
	r.credential.AddFlags(cmd.Flags())
	cmd.Flags().DurationVar(&r.timeout, "timeout", timeout, "how long to wait for the answer")
}

// with calls f with a client and a context that ends with the timeout.
func (r *remote) with(cmd *cobra.Command, f func(context.Context, *client.Client) error) error {
	c, err := r.connect()
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // the answer has been read
	return r.ask(cmd.Context(), func(ctx context.Context) error { return meantLimit(ctx, c, f(ctx, c)) })
}

// A hintedError says already what can be done about it.
type hintedError struct{ error }

func (e *hintedError) Unwrap() error { return e.error }

// meantLimit adds to an ErrUnknownLimit which limit was probably meant, if the cluster tells its limits.
func meantLimit(ctx context.Context, c *client.Client, err error) error {
	if !errors.Is(err, limit.ErrUnknownLimit) {
		return err
	}
	_, said, _ := strings.Cut(err.Error(), limit.ErrUnknownLimit.Error()+" ")
	quoted, _ := strconv.QuotedPrefix(said) // is empty where err does not name the limit
	unknown, noName := strconv.Unquote(quoted)
	stored, noLimits := c.StoredLimits(ctx)
	switch {
	case noName != nil || noLimits != nil:
		return err
	case len(stored.Rules()) == 0:
		return &hintedError{fmt.Errorf("%w: there are no limits yet: add some with jeton limits apply", err)}
	}
	return &hintedError{fmt.Errorf("%w: %sjeton limits get shows all limits", err, web.MeantLimit(unknown, stored))}
}

// ask asks something once, for as long as the timeout.
func (r *remote) ask(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.explain(ctx, f(ctx))
}

// connect makes a client, which its caller closes. It has not asked anything yet.
func (r *remote) connect() (*client.Client, error) {
	servers, err := r.servers()
	if err != nil {
		return nil, err
	}
	if err := checkTimeout(r.timeout); err != nil {
		return nil, err
	}
	secure, err := r.credential.TLS()
	if err != nil {
		return nil, err
	}
	token, err := r.credential.Token()
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{Servers: servers, TLS: secure, Token: token})
}

// servers are the addresses of --server.
func (r *remote) servers() ([]string, error) {
	var all []string
	for server := range strings.SplitSeq(r.server, ",") {
		if host, port, err := net.SplitHostPort(server); err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("--server: %q is no address of a node's gRPC port: write HOST:PORT, such as 127.0.0.1:7700", server)
		}
		all = append(all, server)
	}
	return all, nil
}

// checkTimeout says of a --timeout that it ends before anything can be asked.
func checkTimeout(d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("--timeout: %v: give more than 0, such as 5s", d)
	}
	return nil
}

// explain says what can be done about an error, where more is known than the error tells.
func (r *remote) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if wrong, is := errors.AsType[*client.MisdirectedError](err); is {
		return wrong
	}
	if _, is := errors.AsType[*hintedError](err); is {
		return err
	}
	late := errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.Canceled)
	lost := tooFew.FindString(err.Error())
	switch {
	case errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: interrupted before an answer came; a change that was asked for may have been made all the same", r.server)
	case lost != "":
		return fmt.Errorf("%s: jeton cluster status shows which nodes answer; in full: %w", lost, err)
	case late || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %v: jeton cluster status shows which nodes are down; --timeout waits longer", r.server, r.timeout)
	case errors.Is(err, limit.ErrUnknownLimit):
		return fmt.Errorf("%w: jeton limits get shows those that there are", err)
	case errors.Is(err, client.ErrUnknownNode):
		return fmt.Errorf("%w: jeton cluster status shows those that there are", err)
	case r.refused(err):
		return fmt.Errorf("%w: is a node running there? --server names another one, and jeton dev starts some", err)
	}
	return err
}

// tooFew is how a node says that a majority of a key's replicas does not answer, which is why no other node can decide either.
var tooFew = regexp.MustCompile(`too few replicas can answer: \d+ of \d+( \([^)]*\))?`)

// unsent says whether a question has reached no node: none that was tried could be connected to, or none is at the address.
func (r *remote) unsent(err error) bool {
	if _, is := errors.AsType[*client.MisdirectedError](err); is {
		return true
	}
	said := err.Error()
	tried := strings.Count(said, "node at ")
	return tried > 0 && tried == strings.Count(said, ": cannot connect: ")
}

// refused says whether nothing takes connections at any of the addresses of --server, as the client words it, which has no error of
// its own for that. What a node that runs says of others is not about these addresses.
func (r *remote) refused(err error) bool {
	for server := range strings.SplitSeq(r.server, ",") {
		if !strings.Contains(err.Error(), "node at "+server+": cannot connect: connection refused") {
			return false
		}
	}
	return true
}
