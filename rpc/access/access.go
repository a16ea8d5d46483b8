// Package access is the one table of who may call what: every gRPC method and every HTTP route of a node, and every route of
// a gateway's operator port. The code that answers asks this table before it answers, docs/security.md and docs/threats.md show it, and a test
// walks it against a running node. What the table does not name is not served.
//
// Start with [Method] and [Route], which find an entry, and [Need.Admits], which judges a caller by it.
package access

// A Door is a listener whose callers are judged by the table.
type Door uint8

// The doors.
const (
	NodeGRPC    Door = iota // a node's gRPC port, 7700
	NodeHTTP                // a node's HTTP port, 7702
	GatewayHTTP             // a gateway's operator port, 7781
	GatewayGRPC             // a gateway's doors that speak gRPC, 7783
)

// A Need is what a caller has to show.
type Need uint8

// The needs, each more than the one before.
const (
	// Reach is for every client that reaches the port, such as probes, which have nothing to show. Over gRPC a connection shows a
	// certificate or the cluster key first, where the node has certificates.
	Reach Need = iota
	// Check is for callers. They show what Reach does. On a loopback port a request from a web page is refused.
	Check
	// Look is for operators who look: the cluster key or a token. Over HTTP on loopback every process of the machine may look.
	Look
	// Change is for operators who change something: the cluster key or a token.
	Change
	// Key is for nodes, and for operators who change which nodes there are: the cluster key.
	Key
)

// An Entry is one row of the table.
type Entry struct {
	Door Door
	// Call is a gRPC method such as /jeton.v1.Limiter/Check, or an HTTP method and a path such as GET /livez. GET stands for
	// HEAD too. A path that ends in {…} stands for all paths that begin with what is before the first {.
	Call string
	Need Need
	// Does says in a few words what the call does.
	Does string
}

// A Port says by what credentials a node or gateway recognizes callers at a door. The zero value recognizes none, on loopback.
type Port struct {
	Key          bool // it has a cluster key
	Certificates bool // callers over gRPC show certificates
	Tokens       bool // there are tokens of operators; the cluster key has one too
	Peers        bool // other nodes call here
	Beyond       bool // other machines can reach the port
}

// Shown is what a caller has proved to have.
type Shown struct {
	Key   bool // the cluster key, by the TLS of its connection
	Token bool // one of the port's tokens
}

// open says of a gRPC port that it takes every caller for a node, because it can know none.
func (p Port) open() bool { return !p.Key && !p.Certificates }

// Admits says whether a caller at a door may do what takes n.
func (n Need) Admits(at Door, p Port, s Shown) bool {
	switch {
	case n <= Check:
		return true
	case n == Key:
		return p.open() || s.Key
	case at == NodeGRPC && p.open() && (!p.Tokens || p.Peers):
		return true // who may write registers as a node need not be kept from filling buckets
	case at == NodeGRPC:
		return s.Key || s.Token
	case n == Look && at == NodeHTTP && !p.Beyond:
		return true
	}
	return !p.Tokens || s.Token
}
