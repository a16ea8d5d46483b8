package main

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// A heading of a page.
type heading struct {
	level    int
	text, id string
}

// ids gives headings their names in addresses, as GitHub does, so that a link leads to the same place here and there.
type ids map[string]bool

// next is the name of the next heading of the page: small letters, digits, hyphens and underscores of its text, with hyphens for spaces. A
// name that the page has gets a number.
func (taken ids) next(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(text)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r):
			b.WriteRune(r)
		}
	}
	name := cmp.Or(b.String(), "section") // nothing of a text of signs alone is left
	id := name
	for n := 1; taken[id]; n++ {
		id = name + "-" + strconv.Itoa(n)
	}
	taken[id] = true
	return id
}
