package config

import (
	"regexp"
	"strconv"
)

// A Status is one status of answers, 503, or a class of them, 5xx.
type Status string

// Numeric implements [strictyaml.Numeric]: most of them are written as numbers.
func (Status) Numeric() {}

// statusForm is how a status is written.
var statusForm = regexp.MustCompile(statusPattern)

const statusPattern = `^[1-5]([0-9][0-9]|xx)$`

// Covers says whether a status of an answer is that one, or of that class.
func (s Status) Covers(status int) bool {
	text := strconv.Itoa(status)
	return string(s) == text || string(s) == text[:1]+"xx"
}
