// Package bound limits what clients can make a process hold: connections, bytes, time, descriptors, and lines of its log. A
// [Listener] wraps every listener of a node and of a gateway:
//
//	accept ─▶ too many, in all or of one address? closed ─▶ Conn ─▶ Prove ─▶ counts for its address no more
//	                                                          └─▶ Hold, Release: the bytes that wait for something
//
// The process holds bytes for a connection while a message is incomplete, a check is undecided, or an answer is unread.
// Strangers (clients that have proved nothing) and callers with a certificate have a budget each; nodes have no bound. When a
// budget is used up, the connection that holds the most of it is closed: a client that fills a budget loses its connection,
// and the others are not affected.
//
// Running out of descriptors is no error of a Listener: it waits and accepts again.
package bound
