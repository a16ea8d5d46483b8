{{- define "jeton.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* The labels by which pods of a component are found: (dict "root" $ "component" "node"). */ -}}
{{- define "jeton.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "jeton.labels" -}}
{{ include "jeton.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* Labels that values add to those of the chart: (dict "labels" .Values.nodes.labels "path" "nodes.labels"). Where pods have those of jeton.selector alone,
       "selector" is true. */ -}}
{{- define "jeton.givenLabels" -}}
{{- $path := .path -}}
{{- $own := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- if not .selector -}}
{{- $own = concat $own (list "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart") -}}
{{- end -}}
{{- range $label, $_ := .labels -}}
{{- if has $label $own -}}
{{- fail (printf "%s: the chart gives the label %s itself, and finds by such labels what is its own: leave it out" $path $label) -}}
{{- end -}}
{{- end -}}
{{- toYaml .labels -}}
{{- end -}}

{{- /* global.imageRegistry takes the place of the registry's name in image.repository, which has a dot or a port. */ -}}
{{- define "jeton.image" -}}
{{- $repository := .Values.image.repository -}}
{{- with dig "imageRegistry" "" (default dict .Values.global) -}}
{{- $repository = regexReplaceAll "^(localhost|[^/]*[.:][^/]*)/" $repository "" | printf "%s/%s" (trimSuffix "/" .) -}}
{{- end -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- /* The names of Secrets for pulling images, each once: a list in JSON. The values have names, or objects with a name. */ -}}
{{- define "jeton.pullSecrets" -}}
{{- $names := list -}}
{{- range concat (dig "imagePullSecrets" list (default dict .Values.global) | default list) .Values.image.pullSecrets -}}
{{- $names = append $names (kindIs "map" . | ternary (get (kindIs "map" . | ternary . dict) "name") .) -}}
{{- end -}}
{{- uniq $names | toJson -}}
{{- end -}}

{{- define "jeton.keySecret" -}}
{{ default (printf "%s-cluster-key" (include "jeton.fullname" .)) .Values.secrets.clusterKey }}
{{- end -}}

{{- define "jeton.tokenSecret" -}}
{{ default (printf "%s-admin-tokens" (include "jeton.fullname" .)) .Values.secrets.adminTokens }}
{{- end -}}

{{- define "jeton.gatewayTokenSecret" -}}
{{ default (printf "%s-gateway-tokens" (include "jeton.fullname" .)) .Values.secrets.gatewayTokens }}
{{- end -}}

{{- /* The name at which a node is reached: its pod's, which the pod itself finds in its own /etc/hosts. (list $ "jeton-0") */ -}}
{{- define "jeton.host" -}}
{{- $root := index . 0 -}}
{{ index . 1 }}.{{ include "jeton.fullname" $root }}-nodes.{{ $root.Release.Namespace }}.svc.{{ $root.Values.clusterDomain }}
{{- end -}}

{{- /* The first nodes, by which others find the cluster. They stay the same when it grows: a change would restart all pods. (list $ "7701") */ -}}
{{- define "jeton.seeds" -}}
{{- $root := index . 0 -}}
{{- $port := index . 1 -}}
{{- $seeds := list -}}
{{- range $i := until (int (max 3 $root.Values.nodes.founders)) -}}
{{- $seeds = append $seeds (printf "%s:%s" (include "jeton.host" (list $root (printf "%s-%d" (include "jeton.fullname" $root) $i))) $port) -}}
{{- end -}}
{{- join "," $seeds -}}
{{- end -}}

{{- /* The kind of a Service, and what belongs to it: (dict "of" .Values.service "path" "service"). */ -}}
{{- define "jeton.serviceType" -}}
type: {{ .of.type }}
{{- if ne .of.type "ClusterIP" }}
externalTrafficPolicy: {{ .of.externalTrafficPolicy }}
{{- end }}
{{- if eq .of.type "LoadBalancer" }}
{{- with .of.loadBalancerClass }}
loadBalancerClass: {{ . | quote }}
{{- end }}
{{- with .of.loadBalancerSourceRanges }}
loadBalancerSourceRanges:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- else if or .of.loadBalancerClass .of.loadBalancerSourceRanges }}
{{- fail (printf "%s.type: %s has no load balancer, for which loadBalancerClass and loadBalancerSourceRanges are: give LoadBalancer, or leave them out" .path .of.type) }}
{{- end }}
{{- end -}}

{{- /* How long a pod may take to end. (dict "of" .Values.nodes "path" "nodes") */ -}}
{{- define "jeton.grace" -}}
{{- $least := add .of.drainSeconds 25 -}}
{{- $given := int .of.gracePeriodSeconds -}}
{{- if and $given (lt $given (int $least)) -}}
{{- fail (printf "%s.gracePeriodSeconds: %d is too short: %s.drainSeconds is %d, and a pod needs 25 seconds more to answer what is in flight and to stop: give %d or more, or 0" .path $given .path (int .of.drainSeconds) (int $least)) -}}
{{- end -}}
{{- default $least $given -}}
{{- end -}}
