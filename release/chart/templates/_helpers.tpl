{{- define "nearfar.labels" -}}
app.kubernetes.io/name: nearfar
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "nearfar.container" -}}
image: {{ required "image is missing: the image of nearfar in a registry that the nodes reach" .Values.image }}
imagePullPolicy: IfNotPresent
command: [nearfar]
workingDir: /work
env:
  - {name: HOME, value: /tmp}
  - {name: USER, value: nearfar}
resources: {{ toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: work, mountPath: /work}
  - {name: tmp, mountPath: /tmp}
  - {name: experiment, mountPath: /experiment, readOnly: true}
{{- end -}}

{{- /* The Job, without its name: as a Job, and as what a CronJob makes. */ -}}
{{- define "nearfar.job" -}}
backoffLimit: 0
template:
  metadata:
    labels: {{ include "nearfar.labels" . | nindent 6 }}
  spec:
    restartPolicy: Never
    serviceAccountName: {{ .Release.Name }}
    hostname: {{ .Release.Name }}
    terminationGracePeriodSeconds: 120
    securityContext:
      runAsNonRoot: true
      runAsUser: 65532
      runAsGroup: 65532
      fsGroup: 65532
      seccompProfile: {type: RuntimeDefault}
    {{- with .Values.imagePullSecrets }}
    imagePullSecrets: {{ toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.nodeSelector }}
    nodeSelector: {{ toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.tolerations }}
    tolerations: {{ toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.affinity }}
    affinity: {{ toYaml . | nindent 6 }}
    {{- end }}
    initContainers:
      - name: run
        args: {{ concat (list "run" "--progress" "plain") .Values.args (list "/experiment/experiment.yaml") | toJson }}
        {{- include "nearfar.container" . | nindent 8 }}
      {{- with .Values.metricsPush }}
      - name: push
        args: {{ list "report" "--format" "prometheus" "--push" . | toJson }}
        {{- include "nearfar.container" $ | nindent 8 }}
      {{- end }}
      {{- with .Values.after }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    containers:
      - name: answer
        args: [report]
        {{- include "nearfar.container" . | nindent 8 }}
    volumes:
      - name: work
        {{- if .Values.resultsClaim }}
        persistentVolumeClaim: {claimName: {{ .Values.resultsClaim }}}
        {{- else }}
        emptyDir: {}
        {{- end }}
      - {name: tmp, emptyDir: {}}
      - {name: experiment, configMap: {name: {{ .Release.Name }}}}
{{- end -}}
