package config

// Fixed are the paths of the fields that a gateway takes once, when it starts: while it runs, a document in which one of them says
// something else is refused whole. Of a mapping it is only whether it is there, and of clusters which names
// are; each of them has the fields of cluster. A path that lies in one of proxy, forward_auth and doors
// stands for whether that is there, too.
func Fixed() []string {
	return []string{
		"name",
		"cluster.servers", "cluster.tls", "cluster.tls.ca", "clusters",
		"admin.listen",
		"access_log.path",
		"tracing.endpoint", "tracing.insecure", "tracing.share",
		"proxy.listen", "proxy.tls", "proxy.max_header", "proxy.header_within", "proxy.idle_within", "proxy.answer_pause",
		"proxy.max_connections", "proxy.max_connections_per_client",
		"forward_auth.listen",
		"doors.grpc", "doors.listen", "doors.tls", "doors.rls_config", "doors.rls_headers", "doors.rls_metadata", "doors.kuadrant_config", "doors.redis", "doors.redis_token_file",
	}
}
