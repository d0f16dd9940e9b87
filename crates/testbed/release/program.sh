#!/bin/busybox sh
# shellcheck shell=dash
# Every program of the stand-in release, by the name it is called with. Its files take the places
# of those that a real release makes; the API they talk to is real, and runs outside.
set -eu

export PATH=/bin:/usr/bin
name=${0##*/}
HARNESS='@HARNESS@'
API='@API@'
IMAGE='@IMAGE@'

encoded() { busybox base64 "$1" | busybox tr -d '\n'; }

# Directories and files that bootkube.sh copies from what an operator rendered.
render() {
  for word in "$@"; do
    value=${word#*=}
    case $word in
      --asset-output-dir=* | --output-dir=* | --dest-dir=*)
        busybox mkdir -p "$value/manifests" "$value/bootstrap-manifests" "$value/tls" "$value/etc-kubernetes/manifests"
        # Operators that render plain manifests have nothing beside them.
        case $value in
          */node-tuning-bootstrap | */ingress-operator-manifests | */cmdbootline-nto-bootstrap | */manifests)
            busybox rm -rf "${value:?}"/* ;;
        esac
        ;;
      --config-output-file=* | --cpc-config-output-file=*)
        busybox mkdir -p "${value%/*}"
        echo 'kind: StandIn' >"$value"
        ;;
    esac
  done
}

# The machine config operator: a static pod that serves configs, and who may ask for certificates.
render_machine_configs() {
  to=/assets/mco-bootstrap
  # The release has the same programs as its components.
  for word in "$@"; do
    case $word in --release-image=*) IMAGE=${word#*=} ;; esac
  done
  busybox mkdir -p $to/bootstrap/manifests $to/manifests
  cat >$to/bootstrap/machineconfigoperator-bootstrap-pod.yaml <<END
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "machine-config-server"}, "spec": {
  "containers": [{"name": "server", "image": "$IMAGE", "command": ["/usr/bin/config-server"],
    "volumeMounts": [{"name": "mcs", "mountPath": "/etc/mcs"}]}],
  "volumes": [{"name": "mcs", "hostPath": {"path": "/etc/mcs"}}]}}
END
  cat >$to/manifests/csr-bootstrap-role-binding.yaml <<END
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
 "metadata": {"name": "system-bootstrap-node-bootstrapper"},
 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper"},
 "subjects": [{"kind": "ServiceAccount", "name": "node-bootstrapper", "namespace": "openshift-machine-config-operator"}]}
END
}

cat() { busybox cat "$@"; }

# A config for each role: credentials to ask for a certificate with, and a kubelet that does.
serve_configs() {
  busybox mkdir -p /www/config
  credentials=$(encoded /etc/mcs/kubeconfig)
  for role in master worker arbiter; do
    # As the real server does: nodes report with it which config they have.
    config="machineconfiguration.openshift.io/%sConfig%%22:%%22rendered-$role-standin"
    annotations=$(busybox printf "%%7B%%22$config%%22,%%22$config%%22%%7D" current desired)
    labels="node-role.kubernetes.io/$role="
    [ $role != master ] || labels="$labels,node-role.kubernetes.io/control-plane="
    cat >/www/config/$role <<END
{"ignition": {"version": "3.2.0"},
 "storage": {"files": [{"path": "/etc/kubernetes/kubeconfig", "mode": 384,
   "contents": {"source": "data:;base64,$credentials"}},
  {"path": "/etc/machine-config-daemon/node-annotations.json", "mode": 420,
   "contents": {"source": "data:,$annotations"}}]},
 "systemd": {"units": [{"name": "kubelet.service", "enabled": true, "contents":
   "[Unit]\nWants=network-online.target\nAfter=network-online.target\n[Service]\nType=exec\nRestart=on-failure\nRestartSec=5\nExecStart=/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig --node-labels=$labels\n[Install]\nWantedBy=multi-user.target\n"}]}}
END
  done
  busybox httpd -p 22624 -h /www
  # Nodes find the server under the name of the API, which is outside: the configs go there, and
  # what was asked of it comes back as the log that the real server would write here.
  for role in master worker arbiter; do
    busybox base64 /www/config/$role >/tmp/config
    send /tmp/config "config/$role"
  done
  seen=0
  while true; do
    if busybox wget -q -O /tmp/requests "$HARNESS/config-requests"; then
      busybox tail -n "+$((seen + 1))" /tmp/requests
      seen=$(busybox wc -l </tmp/requests)
    fi
    busybox sleep 3
  done
}

# send FILE PATH: this wget sends texts only.
send() {
  until busybox wget -q -O - --post-file "$1" "$HARNESS/$2"; do
    echo "$2 is not taken yet"
    busybox sleep 3
  done
}

# The API server of the bootstrap is a wire to the one outside.
start_api() {
  pods=/etc/kubernetes/manifests
  IMAGE=$(busybox sed -n 's/.*"image": "\([^"]*\)".*/\1/p' $pods/machineconfigoperator-bootstrap-pod.yaml)
  cat >$pods/kube-apiserver-pod.yaml <<END
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bootstrap-kube-apiserver"}, "spec": {
  "containers": [{"name": "kube-apiserver", "image": "$IMAGE", "command": ["/usr/bin/kube-apiserver"]}]}}
END
}

# The manifests go to the API, which is outside. Pods that must run before this program ends need
# control-plane nodes.
start_cluster() {
  start_api
  busybox tar -cf - -C /assets manifests openshift | busybox gzip | busybox base64 >/tmp/manifests
  send /tmp/manifests manifests
  for word in "$@"; do
    case $word in
      --required-pods=?*)
        until busybox wget -q -O - "$HARNESS/control-plane"; do
          echo "waiting for pods: ${word#*=}"
          busybox sleep 5
        done
        ;;
    esac
  done
}

# What the node becomes: its own config and the kubeconfig of the bootstrap.
make_in_place() {
  cat >/assets/master.ign <<END
{"ignition": {"version": "3.2.0", "config": {"merge": [
   {"source": "data:;base64,$(encoded /assets/original-master.ign)"}]}},
 "storage": {"files": [{"path": "/etc/kubernetes/bootstrap-secrets/kubeconfig", "mode": 384,
   "contents": {"source": "data:;base64,$(encoded /assets/auth/kubeconfig)"}}]}}
END
}

case $name in
  cat) cat "$@" ;;
  image) echo "$IMAGE" ;;
  bootstrap) render_machine_configs "$@" ;;
  start) start_cluster "$@" ;;
  bootstrap-in-place) make_in_place ;;
  config-server) serve_configs ;;
  etcdctl) ;;
  kube-apiserver) exec busybox nc -ll -p 6443 -e /bin/busybox nc "$API" 6443 ;;
  *) render "$@" ;;
esac
