package activity

import (
	"context"
	"sync"
)

// Keys searches the keys of all nodes.
func (s *Source) Keys(ctx context.Context, q KeysAsked) (KeysFound, error) {
	q.Most = q.most()
	var (
		own  KeysFound
		err  error
		wait sync.WaitGroup
	)
	wait.Go(func() { own, err = s.search(ctx, q) })
	others := ask[KeysFound](ctx, s, question{Keys: &q})
	wait.Wait()
	found := finding{KeysFound{Complete: true}, map[string]int{}}
	if err == nil {
		found.add(own, s.cfg.Name)
	} else if found.Silent = []string{s.cfg.Name}; len(others) == 0 {
		return found.KeysFound, err
	}
	for _, o := range others {
		if o.err != nil {
			found.Silent = append(found.Silent, o.name)
			continue
		}
		found.add(o.answer, o.name)
	}
	found.finish(q)
	return found.KeysFound, nil
}
