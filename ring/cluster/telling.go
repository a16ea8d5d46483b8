package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/cluster/status"
)

// tellTime is the timeout for asking a member what only its program reads: status.NotInTime says so in words.
const tellTime = 500 * time.Millisecond

// Told is what a member has answered.
type Told struct {
	Name, ID string
	Answer   json.RawMessage
	Error    string // why there is no answer: one of those of package status, or the words of the member
}

// AskOthers has all other members answer a question, by their Config.Tell, all at the same time. Which question that is, and what the answers
// say, is not known here. It waits for half a second at most.
func (c *Cluster) AskOthers(ctx context.Context, question json.RawMessage) (all []Told) {
	var (
		mu     sync.Mutex
		others []agreed.Node
	)
	for id, n := range c.State().Nodes {
		if id != c.config.ID {
			others = append(others, n)
		}
	}
	message.ForEach(others, func(n agreed.Node) {
		told := Told{Name: n.Name, ID: n.ID.String()}
		answer, err := message.CallWithin[json.RawMessage](ctx, c.config.Peers, tellTime, c.directory.AddressOfNode(n), message.KindTell, question)
		if told.Answer = answer; err != nil {
			told.Error = notTold(err)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, told)
	})
	slices.SortFunc(all, func(a, b Told) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return all
}

// notTold is why a member has not answered.
func notTold(err error) string {
	switch {
	case message.IsUnknownKind(err):
		return status.NotKnown
	case errors.Is(err, context.DeadlineExceeded):
		return status.NotInTime
	case message.Unanswered(err):
		return status.NotReached
	}
	return err.Error()
}

// errNoAnswers refuses questions where the program answers none.
var errNoAnswers = errors.New("this node does not tell what it does")

func (c *Cluster) answerTell(ctx context.Context, question json.RawMessage) (json.RawMessage, error) {
	if c.config.Tell == nil {
		return nil, errNoAnswers
	}
	return c.config.Tell(ctx, question)
}
