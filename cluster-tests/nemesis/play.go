package nemesis

import (
	"context"
	"sync"
	"time"
)

// A Played is what became of an entry of the schedule.
type Played struct {
	Entry

	// Began is when it really began, Healing when it began to be undone, and Ended when everything was back; all counted
	// from the beginning of the run.
	Began, Healing, Ended time.Duration
	// Err says that it could not be played, or that the cluster did not come back.
	Err error
}

// play plays a schedule: each lane in its order, no fault before its time, none while it is
// to be calm, and none after the end.
func (s *Stage) play(ctx context.Context, entries []Entry) (played []*Played, left int) {
	lanes := map[int][]Entry{}
	for _, e := range entries {
		lanes[e.Lane] = append(lanes[e.Lane], e)
	}
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	for _, lane := range lanes {
		wg.Go(func() {
			for i, e := range lane {
				at := s.setting.calmUntil(max(e.At, time.Since(s.began)))
				if pause(ctx, time.Until(s.began.Add(at))) != nil || time.Since(s.began) >= s.setting.Time {
					mu.Lock()
					left += len(lane) - i
					mu.Unlock()
					return
				}
				p := &Played{Entry: e, Began: time.Since(s.began)}
				mu.Lock()
				played = append(played, p)
				mu.Unlock()
				if p.Err = s.one(ctx, p); p.Err != nil {
					s.problem("%s: %v", e.Fault, p.Err)
				}
			}
		})
	}
	wg.Wait()
	return played, left
}

// one plays one fault.
func (s *Stage) one(ctx context.Context, p *Played) error {
	defer func() { p.Ended = time.Since(s.began) }()
	began := time.Now()
	err := p.Begin(ctx, s)
	s.say("%s", p.Fault) // now it knows on whom
	if err == nil {
		// An end of the run must not leave it half done: it is undone all the same.
		pause(ctx, time.Until(began.Add(p.For))) //nolint:errcheck // see above
	}
	p.Healing = time.Since(s.began)
	if undone := p.End(context.WithoutCancel(ctx), s); err == nil {
		err = undone
	}
	if p.For > 0 {
		s.say("%s: over, %.1f s after it was undone", p.Fault, (time.Since(s.began) - p.Healing).Seconds())
	}
	return err
}
