package console

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/web"
)

// checkPath is where checks are made.
const checkPath = "/v1/check"

// curl is a check as a line of a shell, to the port that r has asked.
func (c *Console) curl(r *http.Request, request limit.Request) string {
	body, err := json.Marshal(request)
	if err != nil {
		return ""
	}
	scheme, token := "http", ""
	if r.TLS != nil {
		scheme = "https"
	}
	if c.Self.Role == gateway && web.CallerOf(r.Context()).Tokens {
		token = ` -H "Authorization: Bearer $TOKEN"`
	}
	return fmt.Sprintf("curl %s%s -d %s", inShell(scheme+"://"+r.Host+checkPath), token, inShell(string(body)))
}

// gateway is the role of one.
const gateway = "gateway"

// inShell is text as one word of a shell.
func inShell(text string) string {
	plain := strings.IndexFunc(text, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/@%+=", c)
	}) < 0
	if plain && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// inGo is a check as a Go program makes it; empty for one that defines a limit.
func inGo(r limit.Request) string {
	var refs []string
	for _, ref := range r.Limits {
		if ref.Inline != nil {
			return ""
		}
		refs = append(refs, "jeton.Named("+strconv.Quote(ref.Name)+")")
	}
	fields := []string{"Key: " + strconv.Quote(r.Key), "Limits: []jeton.Ref{" + strings.Join(refs, ", ") + "}"}
	add := func(said bool, name, value string) {
		if said {
			fields = append(fields, name+": "+value)
		}
	}
	add(r.Cost > 1, "Cost", strconv.FormatInt(r.Cost, 10))
	add(r.Look, "Look", "true")
	add(r.Plan != "", "Plan", strconv.Quote(r.Plan))
	add(r.ID != "", "ID", strconv.Quote(r.ID))
	add(r.Receipt, "Receipt", "true")
	add(r.Wait != 0, "Wait", goDuration(r.Wait))
	add(r.Hold != 0, "Hold", goDuration(r.Hold))
	add(r.Least != 0, "Least", strconv.FormatInt(r.Least, 10))
	return "d, err := cluster.Check(ctx, jeton.Request{" + strings.Join(fields, ", ") + "})"
}

// goDuration is d as Go source.
func goDuration(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"time.Hour", time.Hour}, {"time.Minute", time.Minute}, {"time.Second", time.Second}, {"time.Millisecond", time.Millisecond}} {
		if d%unit.of == 0 {
			return fmt.Sprintf("%d * %s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%d * time.Nanosecond", d)
}

// redis is a check as a command of Redis' protocol; empty where there is none: the command takes one stored limit and a cost.
func (c *Console) redis(r *http.Request, request limit.Request) string {
	_, port, err := net.SplitHostPort(c.Redis)
	one := len(request.Limits) == 1 && request.Limits[0].Inline == nil
	if err != nil || !one || request.Plan != "" || request.ID != "" || request.Receipt || request.Wait != 0 || request.Hold != 0 || request.Least != 0 {
		return ""
	}
	command := "redis-cli -p " + port
	if host := hostOf(r); host != "localhost" && host != "127.0.0.1" {
		command = "redis-cli -h " + inShell(host) + " -p " + port
	}
	command += " JETON.CHECK " + inShell(request.Key) + " " + inShell(request.Limits[0].Name)
	if cost := request.Tokens(); cost != 1 {
		command += " " + strconv.FormatInt(cost, 10)
	}
	return command
}

// hostOf is the host by which a browser knows the process.
func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}
