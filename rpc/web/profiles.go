package web

import (
	"net/http"
	"net/http/pprof"
)

// Profiles are the handlers of a process' profiles (package net/http/pprof), by the patterns of [http.ServeMux].
func Profiles() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /debug/pprof/":        http.HandlerFunc(pprof.Index),
		"GET /debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"GET /debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"GET /debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"POST /debug/pprof/symbol": http.HandlerFunc(pprof.Symbol), // go tool pprof posts addresses
		"GET /debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}
