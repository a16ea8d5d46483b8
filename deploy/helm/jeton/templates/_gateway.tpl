{{- /* What a gateway listens at, and which field of its document says so: [{name, at, section, field}]. */ -}}
{{- define "jeton.gatewayPorts" -}}
{{- $document := .Values.gateway.document -}}
- {name: admin, at: 7781, section: admin, field: listen}
{{- if hasKey $document "proxy" }}
- {name: proxy, at: 7780, section: proxy, field: listen}
{{- end }}
{{- if hasKey $document "forward_auth" }}
- {name: forward-auth, at: 7782, section: forward_auth, field: listen}
{{- end }}
{{- if dig "doors" "grpc" "" $document }}
- {name: doors, at: 7783, section: doors, field: listen}
{{- end }}
{{- if dig "doors" "redis" "" $document }}
- {name: redis, at: 7706, section: doors, field: redis}
{{- end }}
{{- end -}}

{{- /* The gateway's document: that of the values, with the addresses that the pod's ports have, and what the chart knows of the cluster. */ -}}
{{- define "jeton.gatewayDocument" -}}
{{- $g := .Values.gateway -}}
{{- if eq (len (include "jeton.gatewayPorts" . | fromYamlArray)) 1 -}}
{{- fail "gateway.document: it has none of proxy, forward_auth, doors.grpc and doors.redis, so that nobody could ask a gateway: give one" -}}
{{- end -}}
{{- $document := deepCopy $g.document -}}
{{- range include "jeton.gatewayPorts" . | fromYamlArray -}}
{{- $section := default dict (get $document .section) -}}
{{- $given := get $section .field -}}
{{- $address := printf ":%d" (int .at) -}}
{{- if and $given (ne (toString $given) $address) -}}
{{- fail (printf "gateway.document.%s.%s: %v: the chart has gateways listen at %q here, and its Services know no other: write that" .section .field $given $address) -}}
{{- end -}}
{{- $_ := set $section .field $address -}}
{{- $_ := set $document .section $section -}}
{{- end -}}
{{- if not (hasKey $document.admin "token_file") -}}
{{- $_ := set $document.admin "token_file" "/etc/jeton/admin/tokens" -}}
{{- end -}}
{{- $cluster := default dict $document.cluster -}}
{{- if hasKey $cluster "servers" -}}
{{- fail "gateway.document.cluster.servers: the chart names the nodes itself: leave it out" -}}
{{- end -}}
{{- /* Without the cluster each gateway has an equal part of local limits: of as many as there may be. */ -}}
{{- if not (hasKey $cluster "gateways") -}}
{{- $_ := set $cluster "gateways" (int (ternary $g.autoscaling.maxReplicas $g.replicas $g.autoscaling.enabled)) -}}
{{- end -}}
{{- $_ := set $document "cluster" $cluster -}}
{{- toYaml $document -}}
{{- end -}}
