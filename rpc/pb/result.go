package pb

import (
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
)

// DecodeResult reads a message. One that holds neither a decision nor an error is an error.
func DecodeResult(m *CheckResult) limit.Result {
	switch result := m.GetResult().(type) {
	case *CheckResult_Decision:
		d, err := DecodeDecision(result.Decision)
		if err != nil {
			return limit.Result{Err: err}
		}
		return limit.Result{Decision: d}
	case *CheckResult_Error:
		if d, denied := DenialOf(status.FromProto(result.Error).Err()); denied {
			return limit.Result{Decision: d}
		}
		return limit.Result{Err: decodeStatus(result.Error)}
	}
	return limit.Result{Err: errNoResult}
}
