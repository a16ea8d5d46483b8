package main

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/gateway/denial"
)

// exchangeRows says what is known of a request to a language model: the estimate, what was held, and what became of it.
func exchangeRows(row func(name, format string, args ...any), x *denial.Exchange) {
	if x.Model != "" {
		row("model", "%s%s", x.Model, map[bool]string{true: ", as a stream"}[x.Stream])
	}
	lowered := ""
	if x.Lowered > 0 {
		lowered = fmt.Sprintf("; the maximum of output was lowered to %d", x.Lowered)
	}
	row("estimate", "%d tokens of input, %d of output%s", x.Input, x.Output, lowered)
	for _, h := range x.Holds {
		row("held", "%d of %s, of %d, for %s by %s", h.Granted, unit(h.Counts), h.Asked, h.Key, strings.Join(h.Limits, ", "))
	}
	if x.Used != nil {
		row("used", "%s", used(x))
	} else if len(x.Holds) > 0 {
		row("used", "not known yet: the answer goes on")
	}
	for _, h := range x.Holds {
		row("settled", "%s", settlementOf(&h))
	}
}

// unit is what is counted, in words.
func unit(counts string) string {
	switch counts {
	case "money":
		return "money, in millionths"
	case "input", "output":
		return counts + " tokens"
	}
	return counts
}

// used is what the request has used, and how that is known.
func used(x *denial.Exchange) string {
	part := func(n int64, name string) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf(", %d of them %s", n, name)
	}
	u := x.Used
	text := fmt.Sprintf("%d tokens of input%s%s, %d of output%s", u.Input, part(u.Cached, "cached"), part(u.CacheWrite, "written to the cache"), u.Output, part(u.Reasoning, "reasoning"))
	switch x.Basis {
	case "usage":
		text += ", as the answer says"
	case "events":
		text += ", by the events of the stream: the answer has no usage"
	case "estimate":
		text += ", as estimated: of the answer nothing is known"
	case "none":
		return "nothing: there was no answer of the model"
	}
	if x.Understated {
		text += ", which is less output than it had events"
	}
	return text
}

// settlementOf is what became of a hold.
func settlementOf(h *denial.Held) string {
	switch h.State {
	case "open":
		return h.Counts + ": not yet"
	case "settled":
		text := fmt.Sprintf("%s: %d charged, %d returned", h.Counts, h.Charged, h.Returned)
		if h.Debt > 0 {
			text += fmt.Sprintf(", %d in debt", h.Debt)
		}
		return text
	case "lost":
		return fmt.Sprintf("%s: its owner is gone: %d charged, nothing returned", h.Counts, h.Charged)
	}
	return fmt.Sprintf("%s: %s: %s", h.Counts, h.State, h.Why)
}
