package access

import "slices"

// Table is every call at every door.
func Table() []Entry {
	return slices.Concat(ofNode(), ofDoors(NodeGRPC), ofPages(), ofGateway(), ofDoors(GatewayGRPC), []Entry{
		{GatewayGRPC, "/envoy.service.auth.v3.Authorization/Check", Check, "decides by the routes of the document, for Envoy: where the door `extauthz` is open"},
	}, ofHealth(GatewayGRPC))
}

// ofDoors is every call of the doors that speak gRPC, at a door where they can be open.
func ofDoors(at Door) []Entry {
	return []Entry{
		{at, "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", Check, "decides, for Envoy: where the door `rls` is open"},
		{at, "/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas", Check, "divides limits among Envoys: where the door `rlqs` is open"},
		{at, "/kuadrant.service.ratelimit.v1.RateLimitService/CheckRateLimit", Check, "looks, for Kuadrant: where the door `kuadrant` is open"},
		{at, "/kuadrant.service.ratelimit.v1.RateLimitService/Commit", Check, "says what was used of a reservation, likewise"},
		{at, "/kuadrant.service.ratelimit.v1.RateLimitService/Report", Check, "charges what was used, likewise"},
		{at, "/kuadrant.service.ratelimit.v1.RateLimitService/Reserve", Check, "holds an estimate, likewise"},
		{at, "/pb.gubernator.V1/GetRateLimits", Check, "decides, for clients of gubernator: where the door `gubernator` is open. RESET_REMAINING, which fills a bucket, is refused where operators have tokens, or callers certificates"},
		{at, "/pb.gubernator.V1/HealthCheck", Reach, "says whether it serves, likewise"},
		{at, "/pb.gubernator.V1/LiveCheck", Reach, "likewise"},
	}
}

// ofHealth is every call by which a gRPC server tells about itself.
func ofHealth(at Door) []Entry {
	return []Entry{
		{at, "/grpc.health.v1.Health/Check", Reach, "says whether it serves"},
		{at, "/grpc.health.v1.Health/List", Reach, "likewise"},
		{at, "/grpc.health.v1.Health/Watch", Reach, "likewise, and again when that changes"},
		{at, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Reach, "lists these methods"},
		{at, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Reach, "likewise"},
	}
}

// ofNode is every call at the gRPC port of a node, but for doors.
func ofNode() []Entry {
	return append([]Entry{
		{NodeGRPC, "/jeton.v1.Limiter/Check", Check, "decides"},
		{NodeGRPC, "/jeton.v1.Limiter/CheckBatch", Check, "decides many"},
		{NodeGRPC, "/jeton.v1.Limiter/CheckStream", Check, "decides a stream of checks; the answers come in any order"},
		{NodeGRPC, "/jeton.v1.Limiter/CheckAll", Check, "decides checks of several keys: all of them admit, or none is charged"},
		{NodeGRPC, "/jeton.v1.Limiter/Return", Check, "returns the tokens that receipts stand for"},
		{NodeGRPC, "/jeton.v1.Limiter/Settle", Check, "says what was used of a hold: `jeton settle`"},
		{NodeGRPC, "/jeton.v1.Limiter/Inspect", Look, "shows a bucket: `jeton bucket`, `jeton holds`"},
		{NodeGRPC, "/jeton.v1.Limiter/Reset", Change, "fills a bucket"},
		{NodeGRPC, "/jeton.v1.Cluster/Watch", Check, "streams the table and the limits to clients"},
		{NodeGRPC, "/jeton.v1.Cluster/Tell", Look, "takes in what a gateway does, for operators to see"},
		{NodeGRPC, "/jeton.v1.Admin/Limits", Check, "shows the limits: `jeton limits get`"},
		{NodeGRPC, "/jeton.v1.Admin/Status", Check, "shows the nodes: `jeton cluster status`"},
		{NodeGRPC, "/jeton.v1.Admin/ApplyLimits", Change, "replaces the limits: `jeton limits apply`"},
		{NodeGRPC, "/jeton.v1.Admin/LimitsHistory", Look, "shows the last versions of the limits: `jeton limits history`"},
		{NodeGRPC, "/jeton.v1.Admin/Audit", Look, "shows what operators have done: `jeton audit`"},
		{NodeGRPC, "/jeton.v1.Admin/Fill", Change, "fills a bucket: `jeton bucket --fill`"},
		{NodeGRPC, "/jeton.v1.Admin/SetOverride", Change, "overrides a limit for a key or a prefix: `jeton limits override set`, `jeton bucket --block`"},
		{NodeGRPC, "/jeton.v1.Admin/UnsetOverride", Change, "takes an override away"},
		{NodeGRPC, "/jeton.v1.Admin/Overrides", Look, "shows the overrides: `jeton limits override list`"},
		{NodeGRPC, "/jeton.v1.Admin/Activity", Look, "shows what all nodes are doing: `jeton top`"},
		{NodeGRPC, "/jeton.v1.Admin/Keys", Look, "searches the keys that are in memory"},
		{NodeGRPC, "/jeton.v1.Admin/Probe", Look, "has all nodes try to reach one another: `jeton doctor`"},
		{NodeGRPC, "/jeton.v1.Admin/ExportCluster", Look, "writes limits, overrides and the audit log into a file: `jeton cluster export`"},
		{NodeGRPC, "/jeton.v1.Admin/ImportCluster", Change, "puts the limits and overrides of such a file in force: `jeton cluster import`"},
		{NodeGRPC, "/jeton.v1.Admin/Drain", Key, "moves all partitions off a node"},
		{NodeGRPC, "/jeton.v1.Admin/Remove", Key, "takes a node out of the cluster"},
		{NodeGRPC, "/jeton.v1.Admin/Recover", Key, "recovers the cluster without its lost nodes"},
		{NodeGRPC, "/jeton.v1.Admin/UpgradeCluster", Key, "raises the level of the cluster: `jeton cluster upgrade`"},
		{NodeGRPC, "/jeton.v1.Peer/Reserve", Key, "writes registers"},
		{NodeGRPC, "/jeton.v1.Peer/Look", Key, "reads a register"},
		{NodeGRPC, "/jeton.v1.Peer/Seal", Key, "ends an epoch of a partition"},
		{NodeGRPC, "/jeton.v1.Peer/Copy", Key, "fetches registers"},
		{NodeGRPC, "/jeton.v1.Peer/Install", Key, "begins an epoch of a partition"},
		{NodeGRPC, "/jeton.v1.Peer/Export", Key, "hands out registers"},
		{NodeGRPC, "/jeton.v1.Peer/Call", Key, "carries membership messages"},
	}, ofHealth(NodeGRPC)...)
}

// ofPages is every call at the HTTP port of a node.
func ofPages() []Entry {
	return []Entry{
		{NodeHTTP, "GET /", Reach, "shows browsers the console, or where to sign in to it; lists these routes to others"},
		{NodeHTTP, "GET /livez", Reach, "says that the node is alive"},
		{NodeHTTP, "GET /readyz", Reach, "says whether the node takes checks (`?strict`: of every key)"},
		{NodeHTTP, "GET /metrics", Reach, "for Prometheus"},
		{NodeHTTP, "POST /v1/check", Check, "decides: `{\"key\":\"user:42\",\"limits\":[\"demo\"]}`"},
		{NodeHTTP, "POST /v1/check-all", Check, "decides checks of several keys, all or none: `{\"checks\":[{\"key\":\"user:42\",\"limits\":[\"demo\"]},{\"key\":\"org:acme\",\"limits\":[\"demo\"]}]}`"},
		{NodeHTTP, "POST /v1/hold", Check, "takes tokens for a time, by an estimate: `{\"key\":\"user:42\",\"limits\":[\"tokens\"],\"cost\":3000,\"for\":\"60s\"}`"},
		{NodeHTTP, "POST /v1/settle", Check, "says how many tokens of a hold were used: `{\"hold\":\"…\",\"cost\":1200}`"},
		{NodeHTTP, "POST /v1/extend", Check, "makes a permit of a concurrency limit last its lease from now on: `{\"key\":\"user:42\",\"receipt\":{…}}`; or a hold: `{\"hold\":\"…\",\"for\":\"60s\"}`"},
		{NodeHTTP, "POST /v1/return", Check, "returns the tokens that receipts stand for: `{\"key\":\"user:42\",\"receipts\":[…]}`"},
		{NodeHTTP, "POST /v1/GetRateLimits", Check, "decides, for clients of gubernator: where the door `gubernator` is open"},
		{NodeHTTP, "GET /v1/HealthCheck", Reach, "says whether the node serves, likewise"},
		{NodeHTTP, "GET /v1/LiveCheck", Reach, "likewise"},
		{NodeHTTP, "GET /v1/limits", Check, "shows the limits, and in ETag their version"},
		{NodeHTTP, "PUT /v1/limits", Change, "replaces the limits: `curl -T limits.yaml` (`If-Match`: only this version; `?remove=true`: limits left out are removed; `?dry_run=true`: only says what would change)"},
		{NodeHTTP, "GET /v1/limits/history", Look, "shows the last versions of the limits (`?version=3`: that one, with its document)"},
		{NodeHTTP, "GET /v1/overrides", Look, "shows the overrides (`?limit=login`: of that limit; in pages)"},
		{NodeHTTP, "PUT /v1/overrides", Change, "overrides a limit for a key or a prefix: `{\"limit\":\"login\",\"key\":\"user:42\",\"says\":\"deny\",\"for\":\"10m\"}`"},
		{NodeHTTP, "DELETE /v1/overrides", Change, "takes an override away (`?limit=login&key=user:42`)"},
		{NodeHTTP, "POST /v1/fill", Change, "fills a bucket, after the audit log has it: `{\"limit\":\"login\",\"key\":\"user:42\"}`"},
		{NodeHTTP, "GET /v1/audit", Look, "shows what operators have done (`?last=20`: the newest)"},
		{NodeHTTP, "GET /v1/buckets/{limit}/{key...}", Look, "shows a bucket as JSON"},
		{NodeHTTP, "DELETE /v1/buckets/{limit}/{key...}", Change, "fills a bucket"},
		{NodeHTTP, "GET /console/{file}", Look, "the console's pages, scripts and styles"},
		{NodeHTTP, "GET /console/signin.css", Reach, "the style of the sign-in page"},
		{NodeHTTP, "GET /console/me", Look, "says who is signed in to the console, and what that allows"},
		{NodeHTTP, "GET /console/events", Look, "streams what the cluster does, once a second (server-sent events)"},
		{NodeHTTP, "GET /console/keys", Look, "searches keys that are awake (`?q=user:`; `&limit=login`, `&most=100`)"},
		{NodeHTTP, "POST /console/try", Look, "makes a check, and shows its answer in several forms: the body is that of `/v1/check`"},
		{NodeHTTP, "POST /console/sign-in", Check, "signs in to the console with a token"},
		{NodeHTTP, "POST /console/sign-out", Check, "signs out"},
		{NodeHTTP, "GET /debug/", Look, "lists these routes"},
		{NodeHTTP, "GET /debug/buckets/{limit}/{key...}", Look, "draws a bucket on its line (`?cost=3`: when that would pass; `?format=json`)"},
		{NodeHTTP, "GET /debug/actors", Look, "shows the keys that are awake and the busiest (`?format=json`)"},
		{NodeHTTP, "GET /debug/ring", Look, "shows the cluster: nodes, what they keep, moves (`?format=json`)"},
		{NodeHTTP, "GET /debug/pprof/{profile...}", Look, "profiles"},
		{NodeHTTP, "POST /debug/pprof/symbol", Look, "names addresses in profiles"},
	}
}

// ofGateway is every call at the door of a gateway.
func ofGateway() []Entry {
	return []Entry{
		{GatewayHTTP, "GET /livez", Reach, "says that the gateway is alive"},
		{GatewayHTTP, "GET /readyz", Reach, "says whether the gateway takes requests (`?strict`: and is not degraded)"},
		{GatewayHTTP, "GET /metrics", Reach, "for Prometheus"},
		{GatewayHTTP, "GET /", Reach, "shows browsers the console, or where to sign in to it; lists these routes to others, which show a token as for `/debug/`"},
		{GatewayHTTP, "GET /v1/denials/{id}", Look, "says why a request was denied: `jeton explain ID`"},
		{GatewayHTTP, "GET /v1/limits", Look, "shows the limits"},
		{GatewayHTTP, "PUT /v1/limits", Change, "is refused: limits are changed at a node"},
		{GatewayHTTP, "POST /v1/check", Change, "decides: `{\"key\":\"user:42\",\"limits\":[\"demo\"]}`"},
		{GatewayHTTP, "POST /v1/check-all", Change, "decides checks of several keys, all or none: `{\"checks\":[{\"key\":\"user:42\",\"limits\":[\"demo\"]},{\"key\":\"org:acme\",\"limits\":[\"demo\"]}]}`"},
		{GatewayHTTP, "POST /v1/hold", Change, "takes tokens for a time, by an estimate: `{\"key\":\"user:42\",\"limits\":[\"tokens\"],\"cost\":3000,\"for\":\"60s\"}`"},
		{GatewayHTTP, "POST /v1/settle", Change, "says how many tokens of a hold were used: `{\"hold\":\"…\",\"cost\":1200}`"},
		{GatewayHTTP, "POST /v1/extend", Change, "makes a permit of a concurrency limit last its lease from now on: `{\"key\":\"user:42\",\"receipt\":{…}}`; or a hold: `{\"hold\":\"…\",\"for\":\"60s\"}`"},
		{GatewayHTTP, "POST /v1/return", Change, "returns the tokens that receipts stand for: `{\"key\":\"user:42\",\"receipts\":[…]}`"},
		{GatewayHTTP, "PUT /v1/overrides", Change, "overrides a limit for a key or a prefix, where the gateway may: `cluster.token_file`"},
		{GatewayHTTP, "DELETE /v1/overrides", Change, "takes an override away, likewise (`?limit=login&key=user:42`)"},
		{GatewayHTTP, "POST /v1/fill", Change, "fills a bucket, likewise: `{\"limit\":\"login\",\"key\":\"user:42\"}`"},
		{GatewayHTTP, "GET /v1/buckets/{limit}/{key...}", Look, "shows a bucket, where the gateway may look: `cluster.token_file`"},
		{GatewayHTTP, "DELETE /v1/buckets/{limit}/{key...}", Change, "fills a bucket, where the gateway may: `cluster.token_file`"},
		{GatewayHTTP, "GET /console/{file}", Look, "the console's pages, scripts and styles"},
		{GatewayHTTP, "GET /console/signin.css", Reach, "the style of the sign-in page"},
		{GatewayHTTP, "GET /console/me", Look, "says who is signed in to the console, and what that allows"},
		{GatewayHTTP, "GET /console/events", Look, "streams what the cluster does, once a second (server-sent events)"},
		{GatewayHTTP, "GET /console/keys", Look, "searches keys that are awake, where the gateway may: `cluster.token_file`"},
		{GatewayHTTP, "POST /console/try", Change, "makes a check, and shows its answer in several forms: the body is that of `/v1/check`"},
		{GatewayHTTP, "POST /console/sign-in", Check, "signs in to the console with a token"},
		{GatewayHTTP, "POST /console/sign-out", Check, "signs out"},
		{GatewayHTTP, "GET /debug/", Look, "lists these routes"},
		{GatewayHTTP, "GET /debug/config", Look, "shows the document in force, without secrets"},
		{GatewayHTTP, "GET /debug/pprof/{profile...}", Look, "profiles"},
		{GatewayHTTP, "POST /debug/pprof/symbol", Look, "names addresses in profiles"},
	}
}
