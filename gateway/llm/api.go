package llm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/gateway/llm/dialect"
)

// apis are all APIs. Each has a file of its own.
var apis = [...]*Format{
	OpenAIChat:        &openAIChat,
	OpenAIResponses:   &openAIResponses,
	AnthropicMessages: &anthropicMessages,
	Custom:            &custom,
}

// known is what is known of the API itself; nil if there is no such API.
func (a API) known() *Format {
	if int(a) >= len(apis) {
		return nil
	}
	return apis[a]
}

// String is the name of the API as a configuration has it.
func (a API) String() string {
	if f := a.known(); f != nil {
		return f.name
	}
	return fmt.Sprintf("API(%d)", uint8(a))
}

// Dialect is the one in which clients of the API are told about their limits; 0 if they know none.
func (a API) Dialect() dialect.Dialect {
	if f := a.known(); f != nil {
		return f.dialect
	}
	return 0
}

// APIs are the names of all APIs.
func APIs() (names []string) {
	for _, f := range apis[1:] {
		names = append(names, f.name)
	}
	return names
}

// ParseAPI is the API of that name. Its error lists all names.
func ParseAPI(name string) (API, error) {
	for _, f := range apis[1:] {
		if f.name == name {
			return f.api, nil
		}
	}
	return 0, fmt.Errorf("unknown API %q: use %s", name, strings.Join(APIs(), ", "))
}

// FormatOf is the format of an API other than [Custom].
func FormatOf(a API) (*Format, error) {
	switch f := a.known(); {
	case f == nil:
		return nil, fmt.Errorf("unknown API %v", a)
	case a == Custom:
		return nil, errors.New("a custom API needs its paths: use NewFormat")
	default:
		return f, nil
	}
}
