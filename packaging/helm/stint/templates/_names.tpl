{{- define "stint.labels" -}}
{ app.kubernetes.io/name: stint, app.kubernetes.io/instance: {{ .Release.Name | quote }} }
{{- end }}

{{- define "stint.secret" }}{{ .Values.secret | default .Release.Name }}{{ end }}

{{- define "stint.tlsSecret" }}{{ .Values.tls.secret | default (printf "%s-tls" .Release.Name) }}{{ end }}

{{- define "stint.nodesSecret" }}{{ .Values.nodeTLS.secret | default (printf "%s-nodes" .Release.Name) }}{{ end }}

{{- /* The nodes' names in DNS, as a list in YAML. */}}
{{- define "stint.nodes" }}
{{- range until (int .Values.replicas) }}
- {{ $.Release.Name }}-{{ . }}.{{ $.Release.Name }}-nodes
{{- end }}
{{- end }}

{{- /* The nodes' addresses for each other, with commas between them. */}}
{{- define "stint.peers" -}}
{{- range $i, $name := include "stint.nodes" . | fromYamlArray }}{{ if $i }},{{ end }}{{ $name }}:7379{{ end }}
{{- end }}
