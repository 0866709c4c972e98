{{/* The name of everything in the release. */}}
{{- define "remuda.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{/* Labels that pods are found by; they never change. */}}
{{- define "remuda.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "remuda.labels" -}}
{{ include "remuda.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The namespace whose objects are followed, and where machines are. */}}
{{- define "remuda.namespace" -}}
{{- .Values.provisioner.namespace | default .Release.Namespace -}}
{{- end }}

{{/* A line of metadata for what belongs there; nothing where helm puts it there anyway. */}}
{{- define "remuda.there" -}}
{{- if ne (include "remuda.namespace" .) .Release.Namespace }}
  namespace: {{ include "remuda.namespace" . }}
{{- end -}}
{{- end }}

{{- define "remuda.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "remuda.name" .) "default" .Values.serviceAccount.create) -}}
{{- end }}

{{- define "remuda.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{/* What `charts/package` puts into the chart: (list context file). */}}
{{- define "remuda.file" -}}
{{- $text := (index . 0).Files.Get (printf "files/%s" (index . 1)) -}}
{{- if not $text -}}
{{- fail (printf "this copy of the chart has no files/%s: install the one that charts/package makes" (index . 1)) -}}
{{- end -}}
{{- $text -}}
{{- end }}
