package modelsdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/jeton-dev/jeton"
	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
)

// docs/llm.md shows this function as it stands here.

var errDenied = errors.New("too many tokens: try again later")

// ask asks a model within the limits tokens and monthly of a user.
func ask(ctx context.Context, cluster jeton.Limiter, model openai.Client, user, question string) (string, error) {
	const most = 200 // tokens of output
	limits := []jeton.Ref{jeton.Named("tokens"), jeton.Named("monthly")}
	d, err := cluster.Check(ctx, jeton.Request{Key: user, Limits: limits, Cost: int64(len(question)/4 + most), Hold: time.Minute})
	if err != nil || !d.Allowed {
		return "", cmp.Or(err, errDenied)
	}
	answer, err := model.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: "gpt-5", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)}, MaxCompletionTokens: openai.Int(most),
	})
	if err != nil {
		return "", err // what was used is not known: the hold expires, and is charged or not as on_expiry says
	}
	_, err = cluster.Settle(ctx, jeton.Settlement{Hold: *d.Hold, Used: answer.Usage.TotalTokens})
	return answer.Choices[0].Message.Content, err
}

// A program holds tokens for the time of a call of an SDK.
func Example() {
	model := httptest.NewServer(fakemodel.New(fakemodel.Config{Words: 8}))
	defer model.Close()
	dir, err := os.MkdirTemp("", "jeton")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of the example alone
	limits := filepath.Join(dir, "limits.yaml")
	const text = "limits: {tokens: {capacity: 1000, refill: 1000/1m, hold: 10m}, monthly: {algorithm: fixed-window, limit: 10000, per: month, hold: 10m}}"
	if err := os.WriteFile(limits, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	node, err := jeton.Open(jeton.NodeConfig{Data: filepath.Join(dir, "data"), Limits: limits, Durability: jeton.Memory, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer node.Close(context.Background()) //nolint:errcheck // all checks were answered

	client := openai.NewClient(option.WithBaseURL(model.URL+"/v1"), option.WithAPIKey("none"))
	if _, err := ask(context.Background(), node, client, "user:42", "What is a jeton?"); err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"tokens", "monthly"} {
		seen, err := node.Inspect(context.Background(), "user:42", jeton.Named(name), "")
		if err != nil {
			fmt.Println(err)
			return
		}
		hold := seen.Holds.List[0]
		fmt.Printf("%s: %d held, then %d used: %s\n", name, hold.Amount, hold.Used, hold.State)
	}
	// Output:
	// tokens: 204 held, then 19 used: settled
	// monthly: 204 held, then 19 used: settled
}
