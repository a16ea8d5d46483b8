package facts

// An owner is the user that owns a file; known is false where there is no such thing.
type owner struct {
	uid, gid int
	known    bool
}
