// Package kuadrantpb is the wire of Kuadrant's Limitador, generated. It sends Envoy's messages, too, which are those of go-control-plane. How many fields a message may have is bounded
// where servers read it: see package transport.
package kuadrantpb
