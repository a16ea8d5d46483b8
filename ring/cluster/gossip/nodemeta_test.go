package gossip

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/ring/cluster/message"
)

func TestLevelsThatFit(t *testing.T) {
	const none, c = "", "00ff"
	at := func(level, newest int, cluster string) NodeMeta {
		return NodeMeta{Level: level, Newest: newest, Partitions: 7, Cluster: cluster}
	}
	for what, of := range map[string]struct {
		own, other NodeMeta
		fits       bool
	}{
		"the same release":                            {at(1, 2, none), at(1, 2, none), true},
		"the release before levels, founding":         {at(1, 2, none), at(1, 0, none), true},
		"the release before levels, of the cluster":   {at(1, 2, c), at(1, 0, c), true},
		"the release before levels, after the raise":  {at(2, 2, c), at(1, 0, none), false},
		"the next release, founding":                  {at(1, 2, none), at(2, 3, none), true},
		"the next release, before the raise":          {at(1, 2, c), at(2, 3, none), false},
		"the next release, after the raise":           {at(2, 2, c), at(2, 3, none), true},
		"the one after that, founding":                {at(1, 2, none), at(3, 4, none), false},
		"the one after that, after the raise":         {at(2, 2, c), at(3, 4, none), false},
		"a member that has not heard of the raise":    {at(2, 2, c), at(1, 2, c), true},
		"a member of a lower level that cannot raise": {at(2, 2, c), at(1, 0, c), false},
		"an empty node of a release that can go back": {at(2, 3, c), at(1, 2, none), true},
	} {
		for from, pair := range map[string][2]NodeMeta{"here": {of.own, of.other}, "there": {of.other, of.own}} {
			err := pair[0].fits(pair[1])
			switch {
			case of.fits && err != nil:
				t.Errorf("%s, seen from %s: %v", what, from, err)
			case !of.fits && (!errors.Is(err, message.ErrForeign) || !strings.Contains(err.Error(), "level")):
				t.Errorf("%s, seen from %s: %v", what, from, err)
			}
		}
	}
}

// A release that knows only one level reads what this one says, and the other way round.
func TestMetaOfTheReleaseBeforeLevels(t *testing.T) {
	text, err := json.Marshal(NodeMeta{Level: 1, Newest: 2, Partitions: 7, Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var before struct {
		Protocol int `json:"v"`
	}
	if err := json.Unmarshal(text, &before); err != nil || before.Protocol != 1 {
		t.Errorf("it reads %s as %+v: %v", text, before, err)
	}
	m, err := readMeta(&memberlist.Node{Meta: []byte(`{"v":1,"p":7,"n":"b","g":"b:7700","r":"b:7703","s":"member","l":"00"}`)})
	if err != nil || m.Levels().Oldest != 1 || m.Levels().Newest != 1 {
		t.Errorf("its own is read as %+v: %v", m, err)
	}
}
