{{- define "tierscope.labels" -}}
app.kubernetes.io/name: tierscope
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{/* One pod of the service: `root`, `part`, `image`, `args`, and optionally `http` and `doctor`. */}}
{{- define "tierscope.pod" -}}
metadata:
  labels:
    {{- include "tierscope.labels" . | nindent 4 }}
  annotations:
    checksum/settings: {{ include (print .root.Template.BasePath "/settings.yaml") .root | sha256sum }}
spec:
  serviceAccountName: {{ .root.Release.Name }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .root.Values.images.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10480
    runAsGroup: 10480
    fsGroup: 10480
    seccompProfile:
      type: RuntimeDefault
  {{- if eq .part "migrate" }}
  restartPolicy: OnFailure
  {{- else }}
  terminationGracePeriodSeconds: 60
  {{- end }}
  {{- if has .part (list "api" "web" "worker") }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tierscope.labels" . | nindent 10 }}
  {{- end }}
  containers:
    - name: {{ .part }}
      image: "{{ .image }}:{{ .root.Values.images.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.images.pullPolicy }}
      command: ["tierscope"]
      args: {{ toJson .args }}
      envFrom:
        - configMapRef:
            name: {{ .root.Release.Name }}
      env:
        - name: TIERSCOPE_REDIS_URL
          valueFrom:
            secretKeyRef:
              name: {{ .root.Values.redis.secret }}
              key: url
      {{- if .http }}
      ports:
        - name: http
          containerPort: 8480
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # Not ready without the database or with another schema; alive all the same.
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
      {{- end }}
      {{- with .doctor }}
      # Slow on purpose: the check starts a process. Work that waits too long is an alert, not a restart.
      livenessProbe:
        exec:
          command: {{ toJson . }}
        initialDelaySeconds: 60
        periodSeconds: 120
        timeoutSeconds: 30
        failureThreshold: 5
      readinessProbe:
        exec:
          command: {{ toJson . }}
        periodSeconds: 60
        timeoutSeconds: 30
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: ["ALL"]
      resources:
        {{- toYaml (index .root.Values.parts .part).resources | nindent 8 }}
      volumeMounts:
        - name: database
          mountPath: /run/secrets/tierscope/database
          readOnly: true
        - name: tmp
          mountPath: /tmp
        - name: data
          mountPath: /var/lib/tierscope
  volumes:
    - name: database
      secret:
        secretName: {{ .root.Values.database.secret }}
        defaultMode: 0440
    - name: tmp
      emptyDir: {sizeLimit: 256Mi}
    - name: data
      emptyDir: {sizeLimit: 256Mi}
{{- end }}
