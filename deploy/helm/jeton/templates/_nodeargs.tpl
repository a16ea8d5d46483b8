{{- /* The command line of a node. */ -}}
{{- define "jeton.nodeArgs" -}}
{{- $n := .Values.nodes -}}
- serve
- --node-name=$(POD_NAME)
- --advertise={{ include "jeton.host" (list . "$(POD_NAME)") }}
- --data=/var/lib/jeton/data
{{- if ne (int $n.founders) 0 }}
- --expect={{ $n.founders }}
{{- end }}
{{- if ne (int $n.founders) 1 }}
- --join={{ include "jeton.seeds" (list . "7701") }}
{{- end }}
- --listen-grpc=:7700
- --listen-gossip=:7701
- --listen-http=:7702
- --listen-raft=:7703
- --replicas={{ $n.replication }}
- --durability={{ $n.durability }}
- --log-level={{ $n.logLevel }}
- --admin-token-file=/etc/jeton/admin/tokens
{{- if .Values.limits.document }}
- --limits=/etc/jeton/limits/limits.yaml
{{- end }}
{{- if .Values.tls.secret }}
- --tls-cert=/etc/jeton/tls/tls.crt
- --tls-key=/etc/jeton/tls/tls.key
- --tls-ca=/etc/jeton/tls/ca.crt
{{- end }}
{{- if eq $n.zone.from "label" }}
- --zone=$(NODE_ZONE)
{{- else if eq $n.zone.from "fixed" }}
- {{ printf "--zone=%s" $n.zone.value | quote }}
{{- else if eq $n.zone.from "node" }}
- --config=/etc/jeton/zone/jeton.yaml
{{- end }}
{{- $ours := dict "node-name" "the pod's name" "advertise" "the pod's name in DNS" "data" "nodes.persistence" "expect" "nodes.founders" "join" "nodes.founders"
  "listen-grpc" "7700" "listen-gossip" "7701" "listen-http" "7702" "listen-raft" "7703" "replicas" "nodes.replication" "durability" "nodes.durability"
  "log-level" "nodes.logLevel" "admin-token-file" "secrets.adminTokens" "cluster-key-file" "secrets.clusterKey" "limits" "limits.document"
  "tls-cert" "tls.secret" "tls-key" "tls.secret" "tls-ca" "tls.secret" "zone" "nodes.zone" "config" "nodes.options" "insecure" "secrets"
  "check" "jeton serve, which starts no node with it" "help" "jeton serve, which starts no node with it" }}
{{- range $option, $value := $n.options }}
{{- if hasKey $ours $option }}
{{- fail (printf "nodes.options.%s: the chart gives this option itself: see %s" $option (get $ours $option)) }}
{{- end }}
{{- /* Numbers as JSON has them: helm reads 2000000 of a file as a float, whose text is 2e+06. */}}
{{- $texts := list }}
{{- range kindIs "slice" $value | ternary $value (list $value) }}
{{- $texts = append $texts (kindIs "string" . | ternary . (toJson .)) }}
{{- end }}
- {{ printf "--%s=%s" $option (join "," $texts) | quote }}
{{- end }}
{{- end -}}

{{- /* The port of Redis' protocol, of nodes.options.listen-redis. */ -}}
{{- define "jeton.redisPort" -}}
{{- $port := index .Values.nodes.options "listen-redis" | trimPrefix ":" | int -}}
{{- if or (gt $port 65535) (and (ge $port 7700) (le $port 7703)) -}}
{{- fail (printf "nodes.options.listen-redis: \":%d\" is no port, or one of 7700 to 7703, which nodes have for others: give \":7706\"" $port) -}}
{{- end -}}
{{ $port }}
{{- end -}}

{{- /* Writes the zone of the pod's node where the node reads it. It alone has a token, which may read Nodes. */ -}}
{{- define "jeton.zoneReader" -}}
- name: zone
  image: {{ .Values.nodes.zone.image | quote }}
  command:
    - sh
    - -euc
    - |
      zone=$(kubectl get node "$NODE_NAME" -o 'jsonpath={.metadata.labels.topology\.kubernetes\.io/zone}')
      printf 'zone: "%s"\n' "$zone" > /etc/jeton/zone/jeton.yaml
  env:
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    - {name: HOME, value: /etc/jeton/zone}
  resources:
    requests: {cpu: 10m, memory: 64Mi}
    limits: {memory: 256Mi}
  securityContext:
    {{- include "jeton.security" . | nindent 4 }}
  volumeMounts:
    - {name: zone, mountPath: /etc/jeton/zone}
    - {name: api-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end -}}
