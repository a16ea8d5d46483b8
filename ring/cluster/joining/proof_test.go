package joining

import (
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
)

// A proof is of as many voters as a majority is, the node itself among them if it votes, and of no others.
func TestProofCountsVoters(t *testing.T) {
	voter := func(n byte) consensus.Server { return consensus.Server{ID: ring.NodeID{n}, Voter: true} }
	servers := []consensus.Server{voter(1), voter(2), voter(3), {ID: ring.NodeID{4}}}
	for answered, enough := range map[string]bool{"\x01": false, "\x01\x04": false, "\x01\x02": true, "\x02\x03\x04": true, "\x01\x02\x03": true} {
		p := &proof{self: ring.NodeID{answered[0]}, answers: map[ring.NodeID]marksAnswer{}}
		for _, n := range []byte(answered) {
			p.answers[ring.NodeID{n}] = marksAnswer{ID: ring.NodeID{n}, Servers: servers}
		}
		missing, verdict := p.missingVoters()
		if verdict != nil || (missing == nil) != enough {
			t.Errorf("%q have answered, of 3 voters: enough is %v, want %v; missing %v, %v", answered, missing == nil, enough, missing, verdict)
		}
	}
}
