package activity

import "github.com/jeton-dev/jeton/internal/build"

// Version is that of this binary, as a [Node] or a [Gateway] tells it.
func Version() string { return build.This().Version }
