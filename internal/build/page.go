package build

import "regexp"

// tagged are the versions of releases, which are tags of the repository. Other versions are of builds between them.
var tagged = regexp.MustCompile(`^v\d+\.\d+\.\d+(-rc\.\d+)?$`)

// Page is the address of a page of the documentation, such as doctor.md or doctor.md#cleanup: as it is at the release of this binary, or
// on main where the binary is of none.
func Page(name string) string {
	return pageAt(This().Version, name)
}

func pageAt(version, name string) string {
	if !tagged.MatchString(version) {
		version = "main"
	}
	return "https://github.com/jeton-dev/jeton/blob/" + version + "/docs/" + name
}
