package top

import (
	"net/url"

	"github.com/jeton-dev/jeton/rpc/activity"
)

// rawKey is a key with all its bytes.
func rawKey(k *activity.Key) string {
	if raw, err := url.PathUnescape(k.Escaped); err == nil && raw != "" {
		return raw
	}
	return k.Key
}
