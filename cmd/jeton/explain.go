package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/secret"
)

// An explainer asks a gateway why it refused a request.
type explainer struct {
	gateway   string
	tokenFile string
	insecure  bool
	timeout   time.Duration
}

func explainVerb() *cobra.Command {
	var e explainer
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Say why a request was refused and from when on it passes, or what a request to a language model was charged",
		Long: "Say why a gateway refused a request, and from when on the same request passes, or why it answered 502 or 504 instead\n" +
			"of the API behind it. ID is what the client was told: the end of \"instance\" in the body of the answer. Of a request to a\n" +
			"language model, say what was estimated, held and charged: ID is the header X-Jeton-Exchange of the answer. A gateway\n" +
			"remembers the last ten thousand of both, and as many denials that it repeated.",
		Example: "  jeton explain edge-1-4f-k7wq2m5ttzrcx3ha\n  jeton explain edge-1-4f-k7wq2m5ttzrcx3ha --gateway edge-1:7781 --token-file token",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkTimeout(e.timeout); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), e.timeout)
			defer cancel()
			r, err := e.ask(ctx, strings.TrimPrefix(args[0], denialURN))
			if err != nil {
				return err
			}
			if output.Value == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return printDenial(cmd.OutOrStdout(), r, time.Now())
		},
	}
	cmd.Flags().StringVar(&e.gateway, "gateway", "127.0.0.1:7781", "admin address of the gateway; also JETON_GATEWAY")
	cmd.Flags().StringVar(&e.tokenFile, "token-file", "", "file with a token of an operator, in its first line")
	cmd.Flags().BoolVar(&e.insecure, "insecure", false, "take a file that others on this machine may read")
	cmd.Flags().DurationVar(&e.timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// denialURN stands before the id of a denial in the body of an answer.
const denialURN = "urn:jeton:denial:"

// maxAnswer is how many bytes of an answer are read: a denial has a few hundred.
const maxAnswer = 1 << 20

// ask asks the gateway for a denial.
func (e *explainer) ask(ctx context.Context, id string) (*denial.Record, error) {
	if _, err := denial.GatewayOf(id); err != nil {
		return nil, noID(id, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.base()+"/v1/denials/"+url.PathEscape(id), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("--gateway: %q is no address: write HOST:PORT, such as edge-1:7781", e.gateway)
	}
	if e.tokenFile != "" {
		token, err := firstToken(e.tokenFile, e.insecure)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return nil, e.explain(ctx, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	if err != nil {
		return nil, e.explain(ctx, err)
	}
	if a.StatusCode != http.StatusOK {
		return nil, e.problem(a.StatusCode, text)
	}
	record := &denial.Record{}
	switch err := json.Unmarshal(text, record); {
	case err != nil:
		return nil, fmt.Errorf("%s: the answer is no denial: is this the admin address of a gateway? %w", e.gateway, err)
	case record.ID != id:
		return nil, fmt.Errorf("%s: the answer is not the denial %s: is this the admin address of a gateway?", e.gateway, id)
	}
	return record, nil
}

// noID says why what was given is no id, and where one stands.
func noID(given string, err error) error {
	if status, wrong := strconv.Atoi(given); wrong == nil && http.StatusText(status) != "" {
		return fmt.Errorf("%s is a status, and no id: the id is the end of \"instance\" in the body of the answer; "+
			"an answer without one is no refusal of the gateway's, which has more of it in its log", given)
	}
	return err
}

// base is the URL of the gateway's admin listener.
func (e *explainer) base() string {
	if strings.Contains(e.gateway, "://") {
		return strings.TrimSuffix(e.gateway, "/")
	}
	return "http://" + e.gateway
}

// explain says why there is no answer.
func (e *explainer) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("gateway at %s: no answer within %v: --timeout waits longer", e.gateway, e.timeout)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if strings.Contains(err.Error(), "malformed HTTP response") { // net/http has no error of its own for it
		return fmt.Errorf("%s does not speak HTTP, as the gRPC of a node does not: give the admin address of a gateway with --gateway, such as edge-1:7781", e.gateway)
	}
	return fmt.Errorf("gateway at %s: %w: give its admin address with --gateway, such as edge-1:7781", e.gateway, err)
}

// notFound is the problem of a path that a port of jeton does not have.
const notFound = "urn:jeton:problem:not-found"

// problem is what the gateway says instead.
func (e *explainer) problem(status int, text []byte) error {
	var p struct {
		Type   string `json:"type"`
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Detail == "" {
		return fmt.Errorf("gateway at %s: answers %d %s: is this the admin address of a gateway?", e.gateway, status, http.StatusText(status))
	}
	switch {
	case status == http.StatusUnauthorized && e.tokenFile != "":
		return fmt.Errorf("gateway at %s: it does not know the token in %s: give one of its admin.token_file", e.gateway, e.tokenFile)
	case status == http.StatusUnauthorized:
		return fmt.Errorf("gateway at %s: it asks for a token of an operator: give --token-file", e.gateway)
	}
	if p.Type == notFound {
		return fmt.Errorf("%s has no denials: is this the admin address of a gateway? Give that with --gateway, such as edge-1:7781", e.gateway)
	}
	return fmt.Errorf("gateway at %s: %s", e.gateway, p.Detail)
}

// maxTokenFile is how many bytes of a file with tokens are read.
const maxTokenFile = 1 << 20

// firstToken is the first token in a file, one a line; lines that begin with # do not count.
func firstToken(path string, insecure bool) (string, error) {
	text, err := secret.Read(path, maxTokenFile, insecure)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if token := strings.TrimSpace(line); token != "" && token[0] != '#' {
			return token, nil
		}
	}
	return "", fmt.Errorf("%s holds no token", path)
}

// printDenial says for people what a denial was, as seen now.
func printDenial(w io.Writer, r *denial.Record, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_ = plain.Fprintf(table, name+"\t"+format+"\n", args...) // Flush tells of an error
	}
	if r.Exchange != nil && passed(r.Reason) {
		row("exchange", "%s", r.ID)
	} else {
		row("denial", "%s", r.ID)
	}
	row("when", "%s, %s", r.At.UTC().Format("2006-01-02 15:04:05.000 UTC"), ago(r.At, now))
	row("request", "%s %s, route %s", r.Method, r.Path, cmp.Or(r.Route, "none"))
	if r.Exchange != nil && r.Status == 0 {
		row("answered", "not yet: %s", reason(r))
	} else {
		row("answered", "%d, %s", r.Status, reason(r))
	}
	if r.Key != "" {
		row("who", "%s", r.Key)
	}
	if r.APIKey != "" {
		row("API key", "%s", r.APIKey)
	}
	if r.Flaw != nil {
		row("shown", "%s", flaw(r))
	}
	if len(r.Limits) > 0 {
		row("cost", "%s", amount(r.Cost, r.Counts))
	}
	if r.Exchange != nil {
		exchangeRows(r, row)
	}
	if r.Wait > 0 {
		row("waits", "up to %s for tokens", plain.Duration(r.Wait))
	}
	for _, l := range r.Limits {
		row("limit", "%s: %s", rule(l), said(l, r))
	}
	if r.Source != "" {
		row("decided by", "%s", decided(r))
	}
	if r.Upstream != "" {
		row("upstream", "%s", r.Upstream)
	}
	if r.Undecided != "" {
		row("undecided", "%s; it passed uncounted, as on_unavailable says", r.Undecided)
	}
	if r.Why != "" {
		row("because", "%s", r.Why)
	}
	if len(r.Limits) > 0 {
		row("passes", "%s", passes(r, now))
	}
	return table.Flush()
}

// reason is why a gateway refused, or that it did not, in words.
func reason(r *denial.Record) string {
	switch r.Reason {
	case "admitted", "unlimited":
		return "it passed"
	case "fail_open":
		return "it passed without a decision"
	case "bad_request":
		return "the request is malformed"
	case "denied":
		return "denied by a limit"
	case "unavailable":
		return "there was no decision, and the policy is to deny"
	case "forbidden":
		return "on a deny list"
	case "unidentified":
		return "no credentials identify the client"
	case "bad_credentials":
		return "the token or API key is invalid"
	case "upstream_failed":
		return "it passed, and the upstream cannot be reached or its answer not be read"
	case "upstream_timeout":
		return "it passed, and the upstream did not answer in time"
	}
	return r.Reason
}

// flaw is what was wrong with what the client showed, and what that led to.
func flaw(r *denial.Record) string {
	text := identity.Flaw(*r.Flaw).String()
	if r.Reason == "bad_credentials" {
		return text
	}
	return text + ": the request went on as if it showed none"
}

// rule is what a limit was.
func rule(l denial.Limit) string {
	terms := []string{fmt.Sprintf("capacity %d", l.Outcome.Limit)}
	if l.Rule != nil {
		terms = l.Rule.Terms()
	}
	if by := l.Outcome.By(); by != "" {
		terms = append([]string{by}, terms...)
	}
	return fmt.Sprintf("%s (%s)", l.Outcome.Name, strings.Join(terms, ", "))
}

// said is what a limit said then, and what edges held of it.
func said(l denial.Limit, r *denial.Record) string {
	if n := l.Outcome.Leased; n > 0 {
		return verdict(l, r) + fmt.Sprintf("; gateways and clients held at most %d more, as the page of the bucket shows", n)
	}
	return verdict(l, r)
}

// verdict is what a limit said. Of a check that was denied, nothing was taken; what a check before it had taken was given back.
func verdict(l denial.Limit, r *denial.Record) string {
	o, unit := l.Outcome, unitOf(l.Counts)
	left := o.Left(unit) + " left"
	switch {
	case !o.Allowed || o.Never:
		return "denied, " + o.WordsIn(unit)
	case l.Earlier:
		return "allowed it, " + left + " then; what it took was given back"
	case o.Remaining < r.Cost && r.Wait > 0:
		return "would have allowed it after a wait, " + left
	case o.Remaining < r.Cost && l.Counts != "":
		return "would have allowed a part, " + left
	}
	return "would have allowed it, " + left
}

// decided is what decided.
func decided(r *denial.Record) string {
	switch r.Source {
	case "cluster":
		text := "the cluster"
		if r.Node != "" {
			text += ", node " + r.Node
		}
		if r.Undecided != "" {
			text += ", all but what is undecided"
		}
		return text
	case "edge":
		return "the gateway itself, by what it holds or has heard of these limits"
	case "known":
		text := "the gateway, by a denial of the cluster that still held, known since " + r.KnownSince.UTC().Format("15:04:05.000 UTC")
		if r.Node != "" {
			text += ", of node " + r.Node
		}
		return text
	case "allow":
		return "the gateway: the cluster did not decide, and on_unavailable is allow"
	case "local":
		return "the gateway's own bucket, as the cluster did not"
	case "deny":
		return "the gateway: neither the cluster nor a local bucket decided"
	}
	return r.Source
}

// passes is from when on the same request passes.
func passes(r *denial.Record, now time.Time) string {
	switch {
	case r.PassesAt.IsZero() && slices.ContainsFunc(r.Limits, func(l denial.Limit) bool { return l.Outcome.Never }):
		return "never: lower the cost, or raise the capacity"
	case r.PassesAt.IsZero():
		return "not known"
	}
	then := ""
	if r.Wait > 0 {
		then = ", and is then held for up to " + plain.Duration(r.Wait)
	}
	if now.Before(r.PassesAt) {
		return "in " + plain.Duration(r.PassesAt.Sub(now)) + then + ", unless others spend meanwhile"
	}
	return "now, since " + ago(r.PassesAt, now) + then + ", unless others have spent meanwhile"
}

// ago is how long before now t was.
func ago(t, now time.Time) string {
	past := now.Sub(t).Truncate(time.Millisecond)
	if past <= 0 {
		return "just now"
	}
	return plain.Duration(past) + " ago"
}
