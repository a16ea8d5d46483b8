// Package ext takes the place of a module that Traefik has beside itself, and that no proxy of modules has: what builds of Traefik may add to its
// configuration, which is nothing.
package ext

// HTTP is what is added to the configuration of HTTP.
type HTTP struct{}

// Router is what is added to that of a router.
type Router struct{}
