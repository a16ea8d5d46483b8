// Command gubernator sends requests by gubernator's own Go client, for the test of the door that answers it. It is a module of its own:
// what jeton is built of stays what jeton needs, and a program has the messages of gubernator once.
//
//	gubernator ADDRESS < REQUESTS
//
// Each line of the input is the JSON of a GetRateLimitsReq, or "health". ADDRESS is of a gRPC server, or the beginning of a URL, as in
// http://127.0.0.1:1050, where the same is sent as JSON. Each line of the output is the JSON of the answer, or "error: " and the error.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	guber "github.com/gubernator-io/gubernator/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// longest is the longest line of the input.
const longest = 1 << 20

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: gubernator ADDRESS < REQUESTS")
	}
	ask := overHTTP(args[0])
	if !strings.HasPrefix(args[0], "http://") {
		client, err := guber.DialV1Server(args[0], nil)
		if err != nil {
			return err
		}
		ask = byClient(client)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		m, err := ask(ctx, lines.Text())
		cancel()
		if err != nil {
			fmt.Fprintf(out, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", text)
	}
	return lines.Err()
}

// An asker sends a line and returns the answer.
type asker func(ctx context.Context, line string) (proto.Message, error)

func byClient(client guber.V1Client) asker {
	return func(ctx context.Context, line string) (proto.Message, error) {
		if line == "health" {
			return client.HealthCheck(ctx, &guber.HealthCheckReq{})
		}
		m := new(guber.GetRateLimitsReq)
		if err := protojson.Unmarshal([]byte(line), m); err != nil {
			return nil, err
		}
		return client.GetRateLimits(ctx, m)
	}
}

func overHTTP(base string) asker {
	return func(ctx context.Context, line string) (proto.Message, error) {
		if line == "health" {
			return send(ctx, http.MethodGet, base+"/v1/HealthCheck", nil, new(guber.HealthCheckResp))
		}
		m := new(guber.GetRateLimitsReq)
		if err := protojson.Unmarshal([]byte(line), m); err != nil {
			return nil, err
		}
		body, err := protojson.Marshal(m)
		if err != nil {
			return nil, err
		}
		return send(ctx, http.MethodPost, base+"/v1/GetRateLimits", body, new(guber.GetRateLimitsResp))
	}
}

// send reads the answer into m.
func send(ctx context.Context, method, url string, body []byte, m proto.Message) (proto.Message, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", answer.Status, data)
	}
	return m, protojson.Unmarshal(data, m)
}
