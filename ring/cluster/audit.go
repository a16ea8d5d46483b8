package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// An Origin says on whose word something is changed, for the audit log.
type Origin struct {
	Who    string // what the caller has shown, such as "token ann"
	From   string // the address of its connection
	Detail string // what is changed, in plain words, where the caller knows it better than the cluster
}

type originKey struct{}

// WithOrigin is a context whose changes are made on the word of by. Without one they are this node's own.
func WithOrigin(ctx context.Context, by Origin) context.Context {
	return context.WithValue(ctx, originKey{}, by)
}

// originOf is the Origin of a context; the zero one without.
func originOf(ctx context.Context) Origin {
	by, _ := ctx.Value(originKey{}).(Origin)
	return by
}

// entry is what the audit log says of a change that the caller of ctx has asked this node for.
func (c *Cluster) entry(ctx context.Context, verb, object, detail string) *agreed.Entry {
	return c.entryBy(originOf(ctx), verb, object, detail)
}

func (c *Cluster) entryBy(by Origin, verb, object, detail string) *agreed.Entry {
	if by.Who == "" {
		by.Who = "the node itself"
	}
	if by.Detail != "" {
		detail = by.Detail
	}
	return &agreed.Entry{
		At: c.config.Now(), Who: by.Who, From: by.From, Node: c.config.Name, Verb: verb, Object: object, Detail: detail,
	}
}

// about is an entry about a node, whose name the leader has found. Nodes of a release without an audit log send none.
func about(e *agreed.Entry, n agreed.Node) *agreed.Entry {
	if e != nil {
		e.Object = n.Name
	}
	return e
}

// Note writes into the audit log what the caller of ctx does outside of the agreed state. It returns when that is agreed, and waits
// for a leader as SetLimits does.
func (c *Cluster) Note(ctx context.Context, verb, object, detail string) error {
	return c.note(ctx, *c.entry(ctx, verb, object, detail))
}

func (c *Cluster) note(ctx context.Context, entries ...agreed.Entry) error {
	_, err := message.AskLeader[message.Nothing](ctx, c.leader, message.KindNote, agreed.Note{Entries: entries})
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

func (c *Cluster) answerNote(ctx context.Context, q agreed.Note) (message.Nothing, error) {
	return message.Nothing{}, c.agreement.Propose(ctx, agreed.Command{Note: &q})
}

// An AuditLog is the last things that operators have done.
type AuditLog struct {
	// Dropped is how many entries there were besides those that are told: older ones, and those of which too many of their kind are newer.
	Dropped uint64       `json:"dropped,string"`
	Entries []AuditEntry `json:"entries"`
}

// An AuditEntry is one of them.
type AuditEntry struct {
	Number uint64    `json:"number,string"`
	At     time.Time `json:"at"` // by the clock of the node
	Who    string    `json:"who"`
	From   string    `json:"from,omitempty"`
	Node   string    `json:"node"` // that was asked
	Verb   string    `json:"verb"`
	Object string    `json:"object,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// Audit is the newest entries of the audit log, as far as this node has heard, the oldest first; last 0 or less is all that are kept.
func (c *Cluster) Audit(last int) AuditLog { return c.AuditIn(c.State(), last) }

// AuditIn is Audit in a state of this cluster.
func (*Cluster) AuditIn(s *agreed.State, last int) AuditLog {
	kept := s.Audit
	if last > 0 {
		kept = kept[max(0, len(kept)-last):]
	}
	log := AuditLog{Entries: []AuditEntry{}}
	for _, e := range kept {
		log.Entries = append(log.Entries, AuditEntry{e.Number, timeOf(e.At), e.Who, e.From, e.Node, e.Verb, e.Object, e.Detail})
	}
	if n := len(kept); n > 0 {
		log.Dropped = kept[n-1].Number - uint64(n)
	}
	return log
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// An Edition is a version of the limits document.
type Edition struct {
	Version uint64    `json:"version,string"`
	InForce bool      `json:"in_force"`
	At      time.Time `json:"at,omitzero"` // when it was put in force; zero where that is not known
	Who     string    `json:"who,omitempty"`
	From    string    `json:"from,omitempty"`
	Node    string    `json:"node,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Bytes   int       `json:"bytes"`
	// Document is the text, where one version was asked for.
	Document string `json:"document,omitempty"`
}

// History is the versions of the limits that are kept, the oldest first, without their documents; or only that version, with its
// document: agreed.ErrUnknownVersion if it is not kept.
func (c *Cluster) History(version uint64) ([]Edition, error) {
	s := c.State()
	wanted := []uint64{version}
	if version == 0 {
		wanted = wanted[:0]
		for i := range s.History {
			wanted = append(wanted, s.History[i].Version)
		}
		if len(wanted) == 0 && s.LimitsVersion > 0 {
			wanted = append(wanted, s.LimitsVersion)
		}
	}
	editions := []Edition{}
	for _, v := range wanted {
		e, err := s.Edition(v)
		if err != nil {
			return nil, err
		}
		shown := Edition{
			Version: v, InForce: v == s.LimitsVersion, At: timeOf(e.At), Who: e.Who, From: e.From, Node: e.Node, Detail: e.Detail, Bytes: len(e.Limits),
		}
		if version != 0 {
			shown.Document = string(e.Limits)
		}
		editions = append(editions, shown)
	}
	return editions, nil
}
