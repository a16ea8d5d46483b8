package limit

import "context"

// Checker decides checks. The actor system, the client, the router and an embedded node are Checkers, stacked on one
// another as [net/http.Handler]s are.
type Checker interface {
	// Check decides r and charges its cost when every limit of r allows it, or charges nothing. A denial is a
	// Decision; an error means that no decision was made: a [*FieldError] for a request that can never be decided,
	// [ErrUnknownLimit], [ErrOverloaded], [ErrUnavailable], or the error of ctx. After an error of the last three
	// kinds the cost may or may not have been charged. Check is safe for concurrent use.
	Check(ctx context.Context, r Request) (Decision, error)
}

// A Result is one answer of a [BatchChecker]: a Decision, or the error because of which there is none.
type Result struct {
	Decision Decision
	Err      error
}

// BatchChecker is a Checker that takes many requests at once, at less cost than one by one.
type BatchChecker interface {
	Checker
	// CheckBatch decides every request by itself and answers in the order of the requests. Requests of one key are
	// decided in their order. It takes at most [MaxBatch] requests; more are a *FieldError in every Result.
	CheckBatch(ctx context.Context, rs []Request) []Result
}

// AllChecker is a Checker that decides the requests of several keys as one: of a user, of the user's organization and of an address.
type AllChecker interface {
	Checker
	// CheckAll charges all requests of rs, or none. It asks them one after another, in their order, until one is denied or has no
	// decision. Then it gives back what the ones before it took, and asks none of the others. So the requests of several keys are
	// not decided at one moment: what is taken and given back is missing in its buckets in between, and other checks may be
	// denied because of that. Requests of one key with the same cost are decided together, at one moment.
	//
	// It takes 1 to [MaxAll] requests, no limit of a key twice, and none with an ID: a CheckAll that is repeated is a new one. Its
	// errors are those of Check, and name the request, as in "checks[1].cost". After an error, what was taken has been given back;
	// of the request that had no decision, the cost may or may not have been charged, as after an error of Check.
	//
	// What is given back takes effect at the owner that admitted it. Where that owner cannot be reached within a second, the
	// tokens are lost until they come back by the refill: stricter, never looser.
	CheckAll(ctx context.Context, rs []Request) (AllDecision, error)
}

// Returner is a Checker that takes back what it admitted.
type Returner interface {
	// Return gives back the admissions of key that the receipts prove. The result says for each receipt whether that took
	// effect: only the owner that issued a receipt can take it back, once, and only if since then the bucket has not been full
	// and the limit's capacity and refill have not changed. Otherwise the return has no effect, and is no error. A return that
	// takes effect forgets the request's ID. More than [MaxReturn] receipts are a *FieldError, and nothing is given back.
	Return(ctx context.Context, key string, receipts []Receipt) ([]bool, error)
}

// Settler is a Checker that is told what became of its holds.
type Settler interface {
	// Settle says how many tokens of a hold were used: fewer than it holds come back, more are charged, into debt as far as the
	// limit allows. It takes effect once, at any time until [SettleLate] after the hold has expired, and a repeated settlement gets the
	// same answer. Where the limit counts entries any owner settles it; otherwise only the process that took the hold gives back, and
	// after its end the hold is charged in full ([HoldLost]).
	//
	// A hold that no limit knows is ErrUnknownHold, and the settlement charges nothing.
	Settle(ctx context.Context, s Settlement) (Settled, error)
}

// EachLimiter is a Limiter that is asked many things at once, whose answers do not wait for each other.
type EachLimiter interface {
	Limiter
	// Each is like CheckBatch and like Settle for each settlement, but gives each answer as soon as it is known. It calls checked exactly once
	// for every request, with its index in rs, and settled for every settlement, with its index in ss, at the latest when ctx ends.
	// Each does not wait for answers: these calls may come before or after it returns, from any goroutine and from several at once. They
	// must return soon and must not call the Limiter. The caller must not change rs and ss until all calls have been made. Each takes at
	// most [MaxBatch] of both together; more are a *FieldError for each.
	Each(ctx context.Context, rs []Request, checked func(place int, r Result), ss []Settlement, settled func(place int, settled Settled, err error))
}

// Inspector is a Checker that shows the state of its buckets.
type Inspector interface {
	// Inspect returns the state of one bucket, and changes nothing. It is shown by the numbers of a plan, or, where plan is empty, by
	// those that the last check went by. A plan that the limit does not have is a *FieldError; see [IsNoPlan].
	Inspect(ctx context.Context, key string, ref Ref, plan string) (Inspection, error)
}

// Resetter is a Checker that can fill its buckets again.
type Resetter interface {
	// Reset fills one bucket. When it returns, the reset is as durable as an admission. What owners had reserved before the
	// reset may still be spent once.
	Reset(ctx context.Context, key string, ref Ref) error
}

// Limiter is everything that a client can ask of a node.
type Limiter interface {
	BatchChecker
	AllChecker
	Returner
	Settler
	Inspector
	Resetter
}
