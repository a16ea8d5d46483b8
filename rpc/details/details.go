// Package details makes the status of a denial for gRPC callers who ask for one: what a node and a gateway answer alike. Start with
// [Denial].
package details

import (
	"encoding/base64"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jeton-dev/jeton/actor/limit"
)

// What a caller sends, as metadata of its call, to get denials as errors with details.
const (
	Asked    = "jeton-denials"
	AsErrors = "error"
)

// A Denial is what the status of one says.
type Denial struct {
	Message string // at most about a thousand bytes of UTF-8: a status travels in a header
	// Key is the subject of each violation; empty tells none.
	Key string
	// Wait is how long until the request passes, unless Never.
	Wait  time.Duration
	Never bool
	// Limits are the outcomes of all limits that were asked. Those that deny are violated.
	Limits []limit.Outcome
	More   []protoadapt.MessageV1 // further details
}

// maxSubjects is how many bytes the keys of all violations may take together: there are clients that read no more than 8 KiB of headers.
const maxSubjects = 1 << 10

// Status is ResourceExhausted with these details:
//
//	google.rpc.RetryInfo     the wait after which the request passes; not there when it can never pass
//	google.rpc.QuotaFailure  a violation for each limit that denies: the key, and what the limit says
func (d *Denial) Status() *status.Status {
	st := status.New(codes.ResourceExhausted, d.Message)
	var details []protoadapt.MessageV1
	if !d.Never {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(d.Wait)})
	}
	failure, subjects := &errdetails.QuotaFailure{}, 0
	for i := range d.Limits {
		o := &d.Limits[i]
		if o.Allowed {
			continue
		}
		v := &errdetails.QuotaFailure_Violation{Description: o.Name + ": " + o.Words()}
		if subjects += len(d.Key); subjects <= maxSubjects {
			v.Subject = d.Key
		}
		failure.Violations = append(failure.Violations, v)
	}
	detailed, err := st.WithDetails(append(append(details, failure), d.More...)...)
	if err != nil {
		return st
	}
	return detailed
}

// Header is the status as the header grpc-status-details-bin has it; empty for one that cannot be written.
func Header(st *status.Status) string {
	written, err := proto.Marshal(st.Proto())
	if err != nil {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(written)
}
