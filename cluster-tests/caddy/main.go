// Command caddy is the Caddy web server with just the parts that deploy/caddy/Caddyfile needs, for the tests of that
// file. It is a module of its own, so that what jeton is built of stays what jeton needs.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"          // reads a Caddyfile
	_ "github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"      // makes a configuration of it
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"              // the HTTP server
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy" // reverse_proxy
)

func main() { caddycmd.Main() }
