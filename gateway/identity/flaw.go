package identity

// A Flaw is why a token or an API key that a request shows is not valid. The zero Flaw means that the request shows no invalid
// one. A Flaw contains no part of the token or key.
type Flaw struct {
	// Credential is what was shown: "token" or "API key".
	Credential string
	// Check is what it failed: of a token malformed, other_algorithm, other_issuer, other_audience, no_expiry, expired, too_early,
	// unknown_key or bad_signature, of an API key unknown, expired or too_long.
	Check string
}

// The values of Flaw.Credential, and the checks of an API key.
const (
	aToken   = "token"
	anAPIKey = "API key"

	keyUnknown = "unknown"
	keyExpired = "expired"
	keyTooLong = "too_long"
)

// words say what is wrong, behind "the token" or "the API key".
var words = map[Flaw]string{
	{aToken, outcomeNames[malformed]}:      "is malformed",
	{aToken, outcomeNames[otherAlgorithm]}: "is signed with an algorithm that is not accepted",
	{aToken, outcomeNames[otherIssuer]}:    "is from another issuer",
	{aToken, outcomeNames[otherAudience]}:  "is for another audience",
	{aToken, outcomeNames[noExpiry]}:       "has no expiry: it lacks exp",
	{aToken, outcomeNames[expired]}:        "has expired",
	{aToken, outcomeNames[tooEarly]}:       "is not valid yet",
	{aToken, outcomeNames[unknownKey]}:     "is signed with an unknown key",
	{aToken, outcomeNames[badSignature]}:   "has a wrong signature",
	{anAPIKey, keyUnknown}:                 "is not known",
	{anAPIKey, keyExpired}:                 "has expired",
	{anAPIKey, keyTooLong}:                 "is too long",
}

// String is a sentence for people, without its point: "the token has expired". It is empty for the zero Flaw.
func (f Flaw) String() string {
	if f == (Flaw{}) {
		return ""
	}
	if said, ok := words[f]; ok {
		return "the " + f.Credential + " " + said
	}
	return "the " + f.Credential + " is invalid: " + f.Check // from a gateway that is newer than its reader
}

// OfToken says whether the flaw is that of a token.
func (f Flaw) OfToken() bool { return f.Credential == aToken }
