package limit

import (
	"net/url"
	"strings"
)

// ParseBucketPath reads "{limit}/{key...}" from the escaped path of a URL. Everything after the first slash is the key,
// including further slashes, // and "..". Percent escapes such as %2F are decoded in both; + is a plus. Its errors are
// *FieldError. It does not validate the limit and the key.
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
