#!/bin/sh
# Brings latte to all Windows nodes of a cluster, as C:\tools\latte.exe: each node downloads it, and refuses a file whose
# SHA-256 is not that of your own download. It can be repeated, also after nodes were added. Nothing stays in the cluster.
#
#   export AGENT_IMAGE=registry.example/nearfar-agent:v1 LATTE_SHA256=...   # and a kubeconfig, as for nearfar run
#   sh labs/aks-accelerated-networking/latte.sh
#
# The pods are HostProcess containers of the image that nearfar's own pods have: they run the node's own PowerShell.
set -eu

: "${AGENT_IMAGE:?the image that nearfar image writes}"
: "${LATTE_SHA256:?download latte yourself, and give what sha256sum says of it (README.md)}"
url=${LATTE_URL:-https://github.com/microsoft/latte/releases/download/v0/latte.exe}
hash=$(printf '%s' "$LATTE_SHA256" | tr 'A-F' 'a-f')
case $hash in
*[!0-9a-f]*) hash= ;;
esac
if [ "${#hash}" != 64 ]; then
	echo "LATTE_SHA256 is no SHA-256: it has 64 digits from 0 to f" >&2
	exit 1
fi
case $url$AGENT_IMAGE in
*[!A-Za-z0-9:/._@%+-]*)
	echo "LATTE_URL or AGENT_IMAGE has a character that neither an address nor an image has" >&2
	exit 1
	;;
esac

gone() {
	kubectl delete namespace nearfar-latte --ignore-not-found
}
trap gone EXIT
trap 'exit 130' INT TERM

kubectl apply --filename - <<END
apiVersion: v1
kind: Namespace
metadata:
  name: nearfar-latte
  labels: {pod-security.kubernetes.io/enforce: privileged}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: latte, namespace: nearfar-latte}
spec:
  selector: {matchLabels: {app: latte}}
  template:
    metadata: {labels: {app: latte}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      hostNetwork: true
      automountServiceAccountToken: false
      securityContext:
        windowsOptions: {hostProcess: true, runAsUserName: 'NT AUTHORITY\SYSTEM'}
      tolerations: [{operator: Exists}]
      initContainers:
        - name: latte
          image: $AGENT_IMAGE
          command:
            - powershell.exe
            - -NoProfile
            - -ExecutionPolicy
            - Bypass
            - -Command
            - |
              \$ErrorActionPreference = 'Stop'
              New-Item -ItemType Directory -Force C:\\tools | Out-Null
              if ((Test-Path C:\\tools\\latte.exe) -and (Get-FileHash -Algorithm SHA256 C:\\tools\\latte.exe).Hash -eq '$hash') {
                'latte is there'; exit 0
              }
              [Net.ServicePointManager]::SecurityProtocol = 'Tls12'
              Invoke-WebRequest -UseBasicParsing -OutFile C:\\tools\\latte.new -Uri '$url'
              \$hash = (Get-FileHash -Algorithm SHA256 C:\\tools\\latte.new).Hash
              if (\$hash -ne '$hash') {
                Remove-Item C:\\tools\\latte.new
                "latte from $url has the SHA-256 \$hash, and not $hash: it is not installed"; exit 1
              }
              Move-Item -Force C:\\tools\\latte.new C:\\tools\\latte.exe
              "latte from $url has the SHA-256 \$hash"
      containers:
        - name: wait
          image: $AGENT_IMAGE
          command: [powershell.exe, -NoProfile, -Command, Start-Sleep -Seconds 3600]
END
if ! kubectl rollout status daemonset/latte --namespace nearfar-latte --timeout "${LATTE_WAIT:-15m}"; then
	kubectl get pods --namespace nearfar-latte --output wide >&2 || true
	kubectl logs --namespace nearfar-latte --selector app=latte --container latte --prefix >&2 || true
	exit 1
fi
kubectl logs --namespace nearfar-latte --selector app=latte --container latte --prefix
