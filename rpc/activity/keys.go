package activity

import (
	"context"
	"sync"
)

// Keys searches the keys of all nodes.
func (s *Source) Keys(ctx context.Context, q KeysAsked) (KeysFound, error) {
	if q.Most <= 0 {
		q.Most = DefaultKeys
	}
	q.Most = min(q.Most, MaxKeys)
	var (
		found KeysFound
		err   error
		wait  sync.WaitGroup
	)
	wait.Go(func() { found, err = s.cfg.Search(ctx, q) })
	others := ask[KeysFound](ctx, s, question{Keys: &q})
	wait.Wait()
	if err != nil {
		found = KeysFound{Silent: []string{s.cfg.Name}}
		if len(others) == 0 {
			return found, err
		}
	}
	for i := range found.Keys {
		found.Keys[i].Node = s.cfg.Name
	}
	for _, o := range others {
		if o.err != nil {
			found.Silent = append(found.Silent, o.name)
			continue
		}
		found.add(o.answer, o.name)
	}
	found.finish(q)
	return found, nil
}
