// Package bound puts bounds on what strangers can make a process hold: connections, bytes, time, descriptors, and lines of
// its log. A [Listener] stands around every listener of a node and of a gateway:
//
//	accept ─▶ too many, in all or of one address? closed ─▶ Conn ─▶ Prove ─▶ counts for its address no more
//	                                                          └─▶ Hold, Release: the bytes that wait for something
//
// Bytes are held for a connection while something has to happen before they can go: a message is to become complete, a
// check is to be decided, an answer is to be read. Strangers, callers with a certificate and nodes have a budget each. When
// one is used up, the connection that holds most of it is closed: whoever fills a budget loses it, and the others do not
// notice.
//
// Running out of descriptors is no error of a Listener: it waits and accepts again.
package bound
