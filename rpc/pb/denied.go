package pb

import (
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/details"
)

// A DeniedError is the error of a check that was denied, for a caller who asked for denials as errors. As a status it is
// ResourceExhausted, as that of a node which sheds load is, with the details of a [details.Denial], and the decision itself behind them, a
// jeton.v1.Decision. Only a denial has a google.rpc.QuotaFailure among them.
type DeniedError struct {
	Key      string
	Decision limit.Decision // not allowed
}

// Error says which limit the request waits for, and what that says.
func (d *DeniedError) Error() string {
	o := d.Decision.Denying()
	if o == nil {
		return "denied"
	}
	return "denied by " + o.Name + ": " + o.Words()
}

// Wait is how long to wait until the request passes; ok is false if it never will.
func (d *DeniedError) Wait() (wait time.Duration, ok bool) {
	o := d.Decision.Denying()
	if o == nil || o.Never {
		return 0, false
	}
	return o.RetryAfter, true
}

// GRPCStatus is the denial as gRPC sends it.
func (d *DeniedError) GRPCStatus() *status.Status {
	wait, ok := d.Wait()
	denial := details.Denial{
		Message: brief(d.Error()), Key: d.Key, Wait: wait, Never: !ok, Limits: d.Decision.Limits, More: []protoadapt.MessageV1{EncodeDecision(d.Decision)},
	}
	return denial.Status()
}

// DenialOf is the decision of a call that ended with a [DeniedError]; ok is false for any other error. It is for callers who asked for
// denials as errors, and want to know all that the node said.
func DenialOf(err error) (d limit.Decision, ok bool) {
	if own, is := errors.AsType[*DeniedError](err); is {
		return own.Decision, true
	}
	st, is := status.FromError(err)
	if !is || st.Code() != codes.ResourceExhausted {
		return d, false
	}
	for _, detail := range st.Details() {
		if m, is := detail.(*Decision); is && !m.GetAllowed() {
			d, err := DecodeDecision(m)
			return d, err == nil
		}
	}
	return d, false
}

// statusOf is the error of one of many checks as it travels: a denial, or what [EncodeError] makes of it.
func statusOf(err error) *status.Status {
	if d, ok := errors.AsType[*DeniedError](err); ok {
		return d.GRPCStatus()
	}
	return EncodeError(err)
}
