package limit

import (
	"net/url"
	"strings"
)

// ParseBucketPath reads "{limit}/{key...}" as it stands in the escaped path of a URL. Everything after the first slash
// is the key, further slashes, // and .. included; %2F and the like are decoded in both, and + is a plus. Its errors are
// *FieldError; whether limit and key are valid is not looked at.
func ParseBucketPath(escaped string) (name, key string, err error) {
	name, key, found := strings.Cut(escaped, "/")
	if !found {
		return "", "", &FieldError{Field: "path", Problem: "has no key: write {limit}/{key}, such as login/user:42"}
	}
	if name, err = url.PathUnescape(name); err != nil {
		return "", "", &FieldError{Field: "path", Problem: err.Error()}
	}
	if key, err = url.PathUnescape(key); err != nil {
		return "", "", &FieldError{Field: "path", Problem: err.Error()}
	}
	return name, key, nil
}
