{{- /* The gateway's document: that of the values, with the addresses that the pod's ports have, and what the chart knows of the cluster. */ -}}
{{- define "jeton.gatewayDocument" -}}
{{- $g := .Values.gateway -}}
{{- $document := deepCopy $g.document -}}
{{- $_ := set $document "admin" (merge (dict "listen" ":7781" "token_file" "/etc/jeton/admin/tokens") (default dict $document.admin)) -}}
{{- range $listener, $port := dict "proxy" 7780 "forward_auth" 7782 -}}
{{- if hasKey $document $listener -}}
{{- $_ := set $document $listener (merge (dict "listen" (printf ":%d" (int $port))) (get $document $listener)) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $document "doors" -}}
{{- $ours := dict -}}
{{- if get $document.doors "grpc" -}}{{- $_ := set $ours "listen" ":7783" -}}{{- end -}}
{{- if get $document.doors "redis" -}}{{- $_ := set $ours "redis" ":7706" -}}{{- end -}}
{{- $_ := set $document "doors" (merge $ours $document.doors) -}}
{{- end -}}
{{- /* Without the cluster each gateway has an equal part of local limits: of as many as there may be. */ -}}
{{- $cluster := default dict $document.cluster -}}
{{- if not (hasKey $cluster "gateways") -}}
{{- $_ := set $cluster "gateways" (int (ternary $g.autoscaling.maxReplicas $g.replicas $g.autoscaling.enabled)) -}}
{{- end -}}
{{- $_ := set $document "cluster" $cluster -}}
{{- toYaml $document -}}
{{- end -}}

{{- /* What a gateway listens at: [{name, at}]. */ -}}
{{- define "jeton.gatewayPorts" -}}
{{- $document := .Values.gateway.document -}}
- {name: admin, at: 7781}
{{- if hasKey $document "proxy" }}
- {name: proxy, at: 7780}
{{- end }}
{{- if hasKey $document "forward_auth" }}
- {name: forward-auth, at: 7782}
{{- end }}
{{- if hasKey $document "doors" }}
{{- if get $document.doors "grpc" }}
- {name: doors, at: 7783}
{{- end }}
{{- if get $document.doors "redis" }}
- {name: redis, at: 7706}
{{- end }}
{{- end }}
{{- end -}}
