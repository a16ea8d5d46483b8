package access

import "context"

// An Identity is who calls, as far as it has shown, for the audit log. It decides nothing: that is for a [Need].
type Identity struct {
	Who  string // such as "token ann" or "cluster key"
	From string // the address of the connection
	Key  bool   // it has shown the cluster key
	None bool   // it has shown nothing
}

type identityKey struct{}

// WithIdentity is the context of a call by that caller.
func WithIdentity(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityOf is the caller of a call; the zero value where no guard has seen it.
func IdentityOf(ctx context.Context) Identity {
	i, _ := ctx.Value(identityKey{}).(Identity)
	return i
}

// NoCredentials is who a caller is that has shown nothing.
const NoCredentials = "no credentials"
