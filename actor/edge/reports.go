package edge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// reporting is how many messages with reports are under way at most. More reports wait, and go together.
	reporting = 8
	// reportWithin is how long a message with reports may take.
	reportWithin = time.Duration(lease.ReportWithin)
)

// A dueReport is one that is to be sent.
type dueReport struct {
	id    bucketID // with the plan by whose numbers the ask was made
	share *share
	ask   lease.Ask
}

// A reportQueue has the reports that wait to be sent: at most one of each share.
type reportQueue struct {
	mu      sync.Mutex
	waiting []dueReport
	senders int // goroutines that send
}

// put puts a report into the queue, and says whether another sender is to be started.
func (q *reportQueue) put(r dueReport) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, r)
	if start = q.senders < reporting; start {
		q.senders++
	}
	return start
}

// next takes the reports of a message out of the queue. Where there is none, its caller is a sender no more.
func (q *reportQueue) next() (batch []dueReport) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), limit.MaxBatch)
	batch, q.waiting = q.waiting[:n:n], q.waiting[n:]
	if n == 0 {
		q.waiting = nil
		q.senders--
	}
	return batch
}

// report sends a report in the background.
func (e *Edge) report(r dueReport) {
	if e.reports.put(r) && !e.cfg.Go(e.sendReports) {
		for batch := e.reports.next(); len(batch) > 0; batch = e.reports.next() {
			for i := range batch {
				e.reported(&batch[i], 0, limit.Result{Err: limit.ErrUnavailable})
			}
		}
	}
}

// sendReports sends what is in the queue, until it is empty.
func (e *Edge) sendReports(ctx context.Context) {
	for batch := e.reports.next(); len(batch) > 0; batch = e.reports.next() {
		requests := make([]limit.Request, len(batch))
		for i := range batch {
			requests[i] = batch[i].request()
		}
		sent, _ := e.clock.read()
		within, cancel := context.WithTimeout(ctx, reportWithin)
		results := e.send(within, requests)
		cancel()
		for i := range batch {
			e.reported(&batch[i], sent, results[i])
		}
	}
}

// send has the cluster decide requests, in one message where they are several.
func (e *Edge) send(ctx context.Context, requests []limit.Request) []limit.Result {
	if len(requests) > 1 {
		return e.cfg.Cluster.CheckBatch(ctx, requests)
	}
	d, err := e.cfg.Cluster.Check(ctx, requests[0])
	return []limit.Result{{Decision: d, Err: err}}
}

// reported takes in what a report was answered.
func (e *Edge) reported(r *dueReport, sent int64, result limit.Result) {
	a := lease.Answer{Number: r.ask.Number, Sent: sent, Reported: result.Decision.Reported}
	if result.Err != nil {
		a.Reported = nil
	}
	e.counts.asked(true, &a, result.Err)
	e.answered(r.share, a)
	if o := outcomeOf(&result.Decision); mistaken(result.Err) || overridden(&o) {
		e.drop(r.share)
	}
}

// mistaken says whether an owner takes no asks of a bucket: the limit was removed, or is another one.
func mistaken(err error) bool {
	_, refused := errors.AsType[*limit.FieldError](err)
	return refused || errors.Is(err, limit.ErrUnknownLimit)
}

func outcomeOf(d *limit.Decision) limit.Outcome {
	if len(d.Limits) != 1 {
		return limit.Outcome{}
	}
	return d.Limits[0]
}

// request is the report as a request.
func (r *dueReport) request() limit.Request {
	return limit.Request{
		Key: r.id.key, Plan: r.id.plan, Limits: []limit.Ref{limit.Named(r.id.limit)}, Cost: r.ask.Tokens, Look: r.ask.Tokens == 0, Charge: true,
		Report: &limit.Report{Edge: r.share.tag, Number: r.ask.Number, Age: time.Duration(r.ask.Age), Asked: r.ask.Asked},
	}
}
