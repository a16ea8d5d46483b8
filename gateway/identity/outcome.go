package identity

// outcome is what is found of a token. Those that say what it failed stand in the order in which it is looked at.
type outcome int

const (
	believed   outcome = iota
	remembered         // believed, without looking at the signature again
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
