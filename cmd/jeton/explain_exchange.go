package main

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/internal/plain"
)

// exchangeRows say for people what a request to a language model was estimated at, what was held for it, and what it was charged.
func exchangeRows(r *denial.Record, row func(name, format string, args ...any)) {
	e := r.Exchange
	asked := "an answer"
	if e.Stream {
		asked = "a stream"
	}
	if e.Model != "" {
		asked += " of " + e.Model
	}
	row("asks for", "%s", asked)
	row("estimate", "%d tokens of input and %d of output", e.Input, e.Output)
	switch {
	case e.Lowered > 0 && !passed(r.Reason):
		row("lowered", "an earlier check left %d tokens of output; the request was refused, and the model was not asked", e.Lowered)
	case e.Lowered > 0:
		row("lowered", "less was left than the estimate: the model was told to generate at most %d tokens", e.Lowered)
	}
	if e.Answered != "" {
		row("model", "%s has answered", e.Answered)
	}
	if e.Used != nil {
		row("used", "%s", used(e.Used))
		row("charged by", "%s", basis(e))
	}
	if !e.Ended.IsZero() {
		row("lasted", "%s", plain.Duration(e.Ended.Sub(r.At)))
	}
	for i := range e.Holds {
		row("hold", "%s", held(&e.Holds[i]))
	}
}

// passed says whether a request passed, with or without a decision.
func passed(reason string) bool {
	return reason == "admitted" || reason == "fail_open" || reason == "unlimited"
}

// used are the tokens that were used, by kind.
func used(u *denial.Used) string {
	kinds := func(whole int64, of string, parts ...string) string {
		text := fmt.Sprintf("%d tokens of %s", whole, of)
		if len(parts) > 0 {
			text += " (" + strings.Join(parts, ", ") + ")"
		}
		return text
	}
	var input, output []string
	if u.Cached > 0 {
		input = append(input, fmt.Sprintf("%d from a cache", u.Cached))
	}
	if u.CacheWrite > 0 {
		input = append(input, fmt.Sprintf("%d written to one", u.CacheWrite))
	}
	if u.Reasoning > 0 {
		output = append(output, fmt.Sprintf("%d of reasoning", u.Reasoning))
	}
	return kinds(u.Input, "input", input...) + " and " + kinds(u.Output, "output", output...)
}

// basis is what a charge goes by, in words.
func basis(e *denial.ModelRequest) string {
	switch e.Basis {
	case "none":
		return "nothing: the model gave no answer, and all comes back"
	case "usage":
		if e.Understated {
			return "the usage in the answer, which tells fewer tokens than there were events with output"
		}
		return "the usage in the answer"
	case "events":
		return "the text and the events of the stream: it had no usage, or ended before that"
	case "estimate":
		if e.Unread != "" {
			return "the estimate: the usage of the answer is not known: " + e.Unread
		}
		return "the estimate: nothing is known of what was used"
	}
	return e.Basis
}

// unitOf is what a limit counts, in words; empty for requests and streams.
func unitOf(counts string) string {
	switch counts {
	case config.CountsMoney:
		return "millionths"
	case config.CountsInput, config.CountsOutput:
		return "tokens of " + counts
	case config.CountsTokens:
		return "tokens"
	}
	return ""
}

// amount is a cost with its unit.
func amount(cost int64, counts string) string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", cost, unitOf(counts)))
	if counts == config.CountsMoney {
		text += " of the unit of the prices"
	}
	return text
}

// held is what became of a hold.
func held(h *denial.Held) string {
	text := fmt.Sprintf("%s of %s: %d ", strings.Join(h.Limits, ", "), h.Key, h.Granted)
	if h.Granted < h.Asked {
		text += fmt.Sprintf("of %d ", h.Asked)
	}
	text += unitOf(h.Counts) + " held"
	switch h.State {
	case string(limit.HoldOpen):
		text += ", while the answer goes on"
	case string(limit.HoldSettled):
		text += fmt.Sprintf(", %d charged, %d returned", h.Charged, h.Returned)
	case string(limit.HoldLost):
		text += fmt.Sprintf(", %d charged, in full: the node that took the hold is gone", h.Charged)
	case string(limit.HoldUnknown):
		text += ", not settled: the limit does not know the hold any more"
	default:
		text += ", not settled: it expires, and is charged or freed as the limit says"
	}
	if h.Debt > 0 {
		text += fmt.Sprintf("; %d in debt", h.Debt)
	}
	if h.Why != "" {
		text += " (" + h.Why + ")"
	}
	return text
}
