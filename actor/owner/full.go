package owner

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
)

// errNoRoom answers who waits for a bucket that a majority of its replicas has no room for.
var errNoRoom = fmt.Errorf("%w: the replicas keep as many buckets of limits that requests define as they may: store the limit, wait until some are full again, or raise --inline-registers",
	limit.ErrOverloaded)

// noRoom tells who waits for a bucket that a majority has no room for it. Who waits for others of the key goes on to wait.
func (o *Owner) noRoom(b *bucket, out *Out) {
	if o.crowd == nil {
		return
	}
	old := o.crowd.queue
	o.crowd.queue = queue{}
	for i := range old.waiting() {
		if w := &old.waiting()[i]; w.concerns(b) {
			out.Replies = append(out.Replies, Reply{Tag: w.Tag, Err: errNoRoom})
		} else {
			o.crowd.push(*w)
		}
	}
}
