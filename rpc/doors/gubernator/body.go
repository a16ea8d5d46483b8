package gubernator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// errManyItems says that a body has more items than a request may have. It is read no further.
var errManyItems = errors.New("too many items")

// readBody reads the JSON of a request, item by item, so that what it takes in memory follows from the size of the body and the items
// that a request may have. As gubernator's gateway it takes an empty body for an empty request, and passes over fields that it does not
// know.
func readBody(r io.Reader) (*gubernatorpb.GetRateLimitsReq, error) {
	dec, m := json.NewDecoder(r), new(gubernatorpb.GetRateLimitsReq)
	token, err := dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return m, nil
	case err != nil:
		return nil, err
	case token != json.Delim('{'):
		return nil, errors.New(`the body is no object: send {"requests":[…]}`)
	}
	seen := false
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		if name != "requests" {
			if err := dec.Decode(new(json.RawMessage)); err != nil {
				return nil, err
			}
			continue
		}
		if seen {
			return nil, errors.New("requests: stands twice")
		}
		seen = true
		if m.Requests, err = readItems(dec); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the request: send one object")
	}
	return m, nil
}

// readItems reads the list of items.
func readItems(dec *json.Decoder) ([]*gubernatorpb.RateLimitReq, error) {
	token, err := dec.Token()
	switch {
	case err != nil:
		return nil, err
	case token == nil:
		return nil, nil
	case token != json.Delim('['):
		return nil, errors.New("requests: is no list")
	}
	var items []*gubernatorpb.RateLimitReq
	for dec.More() {
		if len(items) == gubernatorpb.MaxItems {
			return nil, errManyItems
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		it, err := readItem(raw)
		if err != nil {
			return nil, fmt.Errorf("requests[%d]: %w", len(items), err)
		}
		items = append(items, it)
	}
	_, err = dec.Token()
	return items, err
}

// enumerations are the names that fields of an item may have.
var enumerations = map[string]map[string]int32{"algorithm": gubernatorpb.Algorithm_value, "behavior": gubernatorpb.Behavior_value}

// readItem reads an item. Where protobuf passes over fields that it does not know, it takes names that it does not know for the first one of
// an enumeration: a behavior with a slip would be none.
func readItem(raw json.RawMessage) (*gubernatorpb.RateLimitReq, error) {
	it := new(gubernatorpb.RateLimitReq)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, it); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	for field, values := range enumerations {
		var name *string
		if fields[field] == nil || json.Unmarshal(fields[field], &name) != nil || name == nil {
			continue // left out, or a number, which protobuf has read
		}
		if _, ok := values[*name]; !ok {
			return nil, fmt.Errorf("%s: %s is none of %s; several behaviors are sent as the sum of their numbers",
				field, limit.Quote(*name), strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
	}
	return it, nil
}
