// Package credentials is how a node and its callers prove to each other who they are, over gRPC: the cluster key of nodes and
// operators, certificates of callers, and operators' tokens. What each proof is good for is the table of rpc/access; a [Guard] asks
// it before a method runs. Tokens count over HTTP too.
//
// Keys stay as they were read. [Certificates] and [Tokens] follow their files: a file that is wrong changes nothing.
//
//	server   Port: plain text, certificate or cluster key ─▶ Guard: access.Method ─▶ the method, or codes.Unauthenticated
//	client   WithKey, CallerTLS, ReadToken
//
// Start with [Port], the server's side of a connection.
package credentials
