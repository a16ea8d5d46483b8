package denial

import "time"

// A ModelRequest is a request to a language model: what it was estimated at, what was held for it, and, once its answer has ended, what it was
// charged. A request that was refused has the estimate alone.
type ModelRequest struct {
	// Model is the name that the request had; empty for none.
	Model string `json:"model,omitempty"`
	// Answered is the name that the answer had, where it is another one; by its price money is settled.
	Answered string `json:"answered_model,omitempty"`
	// Stream says that the client asked for a stream of events.
	Stream bool `json:"stream,omitempty"`
	// Input and Output are the estimate, in tokens.
	Input  int64 `json:"estimated_input"`
	Output int64 `json:"estimated_output"`
	// Lowered is the maximum of output, in tokens for each choice, that the upstream got instead of the client's; 0 if it was not changed.
	Lowered int64 `json:"lowered_output,omitempty"`
	// Holds are what was held, and what became of it, in the order of the checks.
	Holds []Held `json:"holds,omitempty"`
	// Basis is what the charge goes by: usage, events, estimate or none; empty while the answer goes on.
	Basis string `json:"basis,omitempty"`
	// Used is what the request has used; nil while the answer goes on.
	Used *Used `json:"used,omitempty"`
	// Unread is why the usage of the answer is not known; empty if it is known, or was not looked for.
	Unread string `json:"unread,omitempty"`
	// Understated says that the answer told fewer tokens of output than it had events with output.
	Understated bool `json:"understated,omitempty"`
	// Ended is when the answer ended; zero while it goes on.
	Ended time.Time `json:"ended,omitzero"`
}

// Used are tokens by kind. Cached and CacheWrite are parts of Input, Reasoning is a part of Output.
type Used struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Cached     int64 `json:"cached,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// Held is what one check has held for an exchange.
type Held struct {
	// Counts is what the check counts, such as tokens or money, in millionths of its unit.
	Counts string `json:"counts"`
	// Key is the key of the check, or its [Hash] if it is secret.
	Key string `json:"key"`
	// Limits are those that hold.
	Limits []string `json:"limits"`
	// Asked is the estimate, and Granted is what was held of it.
	Asked   int64 `json:"asked"`
	Granted int64 `json:"granted"`
	// Charged, Returned and Debt are what the settlement came to.
	Charged  int64 `json:"charged"`
	Returned int64 `json:"returned"`
	Debt     int64 `json:"debt,omitempty"`
	// State is open until the hold is settled, and then settled, lost, unknown, or failed where no node has taken the settlement.
	State string `json:"state"`
	// Why is why it was not settled; empty otherwise.
	Why string `json:"why,omitempty"`
}
