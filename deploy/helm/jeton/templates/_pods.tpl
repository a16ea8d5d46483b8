{{- define "jeton.security" -}}
{{- toYaml .Values.securityContext -}}
{{- end -}}

{{- /* What all pods have in common. */ -}}
{{- define "jeton.pod" -}}
serviceAccountName: {{ include "jeton.fullname" . | quote }}
automountServiceAccountToken: false
# Kubernetes would give each pod variables such as JETON_PORT, which jeton reads as options.
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with include "jeton.pullSecrets" . | fromJsonArray }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Where a pod may run, from .Values.nodes or .Values.gateway. */ -}}
{{- define "jeton.placement" -}}
{{ with .nodeSelector -}}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{- /* The affinity of nodes: nodes.affinity, and what nodes.antiAffinity says where that has no podAntiAffinity. */ -}}
{{- define "jeton.affinity" -}}
{{- $n := .Values.nodes -}}
{{- $affinity := deepCopy (default dict $n.affinity) -}}
{{- if not (or (eq $n.antiAffinity "none") (hasKey $affinity "podAntiAffinity")) -}}
{{- $selector := dict "matchLabels" (include "jeton.selector" (dict "root" . "component" "node") | fromYaml) -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" $selector -}}
{{- if eq $n.antiAffinity "required" -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- else -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 100 "podAffinityTerm" $term))) -}}
{{- end -}}
{{- end -}}
{{- if $affinity -}}
{{- toYaml $affinity -}}
{{- end -}}
{{- end -}}

{{- /* Files of Secrets, of .Values.nodes.secrets or .Values.gateway.secrets: where they are, and the volumes. */ -}}
{{- define "jeton.secretMounts" -}}
{{- range . }}
- {name: secret-{{ . }}, mountPath: /etc/jeton/secrets/{{ . }}, readOnly: true}
{{- end }}
{{- end -}}

{{- define "jeton.secretVolumes" -}}
{{- range . }}
- name: secret-{{ . }}
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{- /* Refuses variables, volumes and mounts that a pod cannot have beside those of the chart: (dict "of" .Values.nodes "path" "nodes" "env" (list "POD_NAME")). */ -}}
{{- define "jeton.checkExtras" -}}
{{- $path := .path -}}
{{- $taken := .env -}}
{{- $given := list -}}
{{- range .of.extraEnv -}}
{{- if has .name $given -}}
{{- fail (printf "%s.extraEnv: the variable %s is there twice" $path .name) -}}
{{- end -}}
{{- if has .name $taken -}}
{{- fail (printf "%s.extraEnv: the chart gives the variable %s itself: leave it out" $path .name) -}}
{{- end -}}
{{- if and (eq $path "nodes") (hasPrefix "JETON_" .name) -}}
{{- fail (printf "nodes.extraEnv: %s would be an option of jeton serve: give it in nodes.options" .name) -}}
{{- end -}}
{{- $given = append $given .name -}}
{{- end -}}
{{- $volumes := list -}}
{{- range .of.extraVolumes -}}
{{- if or (has .name (list "data" "cluster-key" "admin-tokens" "limits" "tls" "zone" "api-token" "document")) (hasPrefix "secret-" .name) (has .name $volumes) -}}
{{- fail (printf "%s.extraVolumes: there is a volume %s already: give it another name" $path .name) -}}
{{- end -}}
{{- $volumes = append $volumes .name -}}
{{- end -}}
{{- $paths := list -}}
{{- range .of.extraVolumeMounts -}}
{{- $at := clean .mountPath -}}
{{- if not (has .name $volumes) -}}
{{- fail (printf "%s.extraVolumeMounts: %s is no volume of %s.extraVolumes" $path .name $path) -}}
{{- end -}}
{{- if or (has $at (list "/etc" "/var" "/var/lib" "/")) (regexMatch "^/(etc|var/lib)/jeton(/|$)" $at) (has $at $paths) -}}
{{- fail (printf "%s.extraVolumeMounts: %s is where other files are: give another path, such as /mnt/%s" $path .mountPath .name) -}}
{{- end -}}
{{- $paths = append $paths $at -}}
{{- end -}}
{{- end -}}

{{- /* What the labels and annotations of a pod of jeton.operatorPod are. */ -}}
{{- define "jeton.operatorMetadata" -}}
labels:
  {{- include "jeton.selector" (dict "root" . "component" "operator") | nindent 2 }}
  {{- with .Values.operator.labels }}
  {{- include "jeton.givenLabels" (dict "labels" . "path" "operator.labels") | nindent 2 }}
  {{- end }}
{{- with .Values.operator.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* A pod that asks nodes as an operator, with the cluster key, and ends: (dict "root" $ "commands" (list (list "cluster" "status"))). The commands run one after
another, on a machine where nodes may run. No pod starts a second time: Kubernetes would delete one of a Job that fails in the end, and its log with the
reason. The Job makes another pod. */ -}}
{{- define "jeton.operatorPod" -}}
{{- $root := .root -}}
{{- $last := sub (len .commands) 1 | int -}}
restartPolicy: Never
{{- include "jeton.pod" $root | nindent 0 }}
{{- with include "jeton.placement" $root.Values.nodes }}
{{- . | nindent 0 }}
{{- end }}
{{- if $last }}
initContainers:
  {{- range $i, $command := initial .commands }}
  {{- include "jeton.operatorContainer" (dict "root" $root "name" (printf "step-%d" $i) "command" $command "limits" $.limits) | nindent 2 }}
  {{- end }}
{{- end }}
containers:
  {{- include "jeton.operatorContainer" (dict "root" $root "name" (printf "step-%d" $last) "command" (last .commands) "limits" .limits) | nindent 2 }}
volumes:
  - name: cluster-key
    secret: {secretName: {{ include "jeton.keySecret" $root | quote }}, defaultMode: 0440}
  {{- if .limits }}
  - name: limits
    configMap: {name: {{ include "jeton.fullname" $root }}-limits}
  {{- end }}
{{- end -}}

{{- define "jeton.operatorContainer" -}}
- name: {{ .name }}
  image: {{ include "jeton.image" .root | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
    {{- range .command }}
    - {{ . | quote }}
    {{- end }}
    - --server={{ include "jeton.seeds" (list .root "7700") }}
    - --cluster-key-file=/etc/jeton/cluster/cluster.key
  resources:
    requests: {cpu: 10m, memory: 64Mi}
    limits: {memory: 256Mi}
  securityContext:
    {{- include "jeton.security" .root | nindent 4 }}
  volumeMounts:
    - {name: cluster-key, mountPath: /etc/jeton/cluster, readOnly: true}
    {{- if .limits }}
    - {name: limits, mountPath: /etc/jeton/limits, readOnly: true}
    {{- end }}
{{- end -}}
