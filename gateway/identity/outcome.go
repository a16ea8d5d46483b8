package identity

// outcome is the result of verifying a token. The failures are in the order of the checks.
type outcome int

const (
	believed   outcome = iota
	remembered         // believed: the signature was verified before
	malformed
	otherAlgorithm
	otherIssuer
	otherAudience
	noExpiry
	expired
	tooEarly
	unknownKey
	badSignature
	outcomes // how many there are
)

// outcomeNames are for metrics.
var outcomeNames = [outcomes]string{
	"believed", "remembered", "malformed", "other_algorithm", "other_issuer", "other_audience", "no_expiry", "expired", "too_early",
	"unknown_key", "bad_signature",
}
