{{/* The resource classes in the values of Runner Provisioner, each with all its settings, as YAML. */}}
{{- define "remuda.classes" -}}
{{- $given := .Values.provisioner }}
{{- $classes := dict }}
{{- range $class, $own := $given.resourceClasses }}
{{- $_ := set $classes $class (mergeOverwrite (deepCopy $given.resourceClassDefaults) $own) }}
{{- end }}
{{- $named := list $given.resourceClass.name | compact }}
{{- if and $given.existingSecret (not $named) (not $classes) }}
{{- /* The Secret alone names the classes; helm can look into it wherever it asks a cluster. */}}
{{- $secret := lookup "v1" "Secret" (include "remuda.namespace" .) $given.existingSecret }}
{{- $config := get ($secret.data | default dict) "config.yaml" | b64dec | fromYaml }}
{{- $named = keys ($config.resourceClass | default dict) | sortAlpha }}
{{- end }}
{{- range $named }}
{{- $_ := set $classes . (omit $given.resourceClass "name") }}
{{- end }}
{{- range $class, $settings := $classes }}
{{- $own := $settings.spec | default dict }}
{{- if not (and $own.domain $own.volumes) }}
{{- $_ := set $settings "spec" (mergeOverwrite (include "remuda.defaultSpec" . | fromYaml) (deepCopy $own)) }}
{{- end }}
{{- end }}
{{- toYaml $classes }}
{{- end }}

{{/* What a spec without a domain or without volumes, which is no machine, changes key by key. Among the values it would get into every other spec. */}}
{{- define "remuda.defaultSpec" -}}
domain:
  resources:
    requests:
      memory: 2Gi
      cpu: "1"
  devices:
    disks:
      - name: disk
        disk:
          bus: virtio
volumes:
  - name: disk
    containerDisk:
      image: quay.io/containerdisks/ubuntu:22.04
{{- end }}

{{/* The name of the RunnerPool of a class, and of its VMs, which leaves it 50 characters. */}}
{{- define "remuda.pool" -}}
{{- regexReplaceAll "[^a-z0-9]+" (lower .) "-" | trimAll "-" | trunc 50 | trimAll "-" -}}
{{- end }}

{{/* The Secret in the layout of Runner Provisioner 0.1.0. */}}
{{- define "remuda.provisionerSecret" -}}
{{- .Values.provisioner.existingSecret | default (printf "%s-provisioner" (include "remuda.name" .)) -}}
{{- end }}

{{/* A duration in a form that can be compared. */}}
{{- define "remuda.nanoseconds" -}}
{{- ((toDate "2006-01-02" "2000-01-01" | mustDateModify .).Sub (toDate "2006-01-02" "2000-01-01")).Nanoseconds -}}
{{- end }}

{{/* All that is wrong with the classes, a line each. */}}
{{- define "remuda.classProblems" -}}
{{- $given := .Values.provisioner }}
{{- $classes := include "remuda.classes" . | fromYaml }}
{{- $pools := dict }}
{{- if hasSuffix "circleci/runner-provisioner" .Values.image.repository }}
image.repository is the image of Runner Provisioner: name one of Remuda
{{- end }}
{{- if and (not $classes) $given.existingSecret }}
provisioner.resourceClass.name is missing, and Secret {{ $given.existingSecret }} in namespace {{ include "remuda.namespace" . }} cannot be asked for it now, or has no resourceClass in its config.yaml
{{- else if and (not $classes) (or $given.circleToken $given.resourceClass.token) }}
provisioner.resourceClass.name is missing: there is a token and no class to run
{{- end }}
{{- if hasKey $given.resourceClasses $given.resourceClass.name }}
provisioner.resourceClass.name: {{ $given.resourceClass.name }} is in provisioner.resourceClasses too
{{- end }}
{{- if and $classes (not $given.existingSecret) (not $given.circleToken) }}
provisioner.circleToken is missing: the API token that may read the queue, or provisioner.existingSecret
{{- end }}
{{- range $class, $settings := $classes }}
{{- $pool := include "remuda.pool" $class }}
{{- if not $pool }}
{{ $class }}: has no letter or digit to name a pool by
{{- end }}
{{- with get $pools $pool }}
{{ $class }}: becomes the pool {{ $pool }}, and so does {{ . }}
{{- end }}
{{- $_ := set $pools $pool $class }}
{{- if not (or $given.existingSecret .token) }}
{{ $class }}: token is missing: the resource class token, or provisioner.existingSecret
{{- end }}
{{- range $window := prepend (.schedules | default list) dict }}
{{- $low := dig "minReplicas" $settings.minReplicas $window }}
{{- $high := dig "maxReplicas" $settings.maxReplicas $window }}
{{- if gt (int $low) (int $high) }}
{{ $class }}: minReplicas {{ $low }} is more than maxReplicas {{ $high }}{{ with $window.start }} in the schedule that starts at {{ . }}{{ end }}
{{- end }}
{{- if and $window.start (not (or (hasKey $window "minReplicas") (hasKey $window "maxReplicas") (hasKey $window "headroom"))) }}
{{ $class }}: the schedule that starts at {{ $window.start }} changes nothing: give it minReplicas, maxReplicas or headroom
{{- end }}
{{- end }}
{{- if and .idleTimeout .scaleDownDelay (not $given.existingSecret) }}
{{- if lt (include "remuda.nanoseconds" .idleTimeout | int64) (include "remuda.nanoseconds" .scaleDownDelay | int64) }}
{{ $class }}: idleTimeout {{ .idleTimeout }} is less than scaleDownDelay {{ .scaleDownDelay }}: VMs would end while they are still wanted
{{- end }}
{{- end }}
{{- if not $given.existingSecret }}
{{- range dig "volumes" list (.spec | default dict) }}
{{- if or .cloudInitNoCloud .cloudInitConfigDrive .sysprep }}
{{ $class }}: volume {{ .name }} of its spec holds user data: Remuda adds its own, and a VM has only one
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
