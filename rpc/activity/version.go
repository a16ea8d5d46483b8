package activity

import "runtime/debug"

// Version is that of this binary, as a [Node] or a [Gateway] tells it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
