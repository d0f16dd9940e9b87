#!/usr/bin/env bash
# Turns the control plane of the bootstrap host into the first boot of the node itself.
# Sourced by bootkube.sh, with CLUSTER_BOOTSTRAP_IMAGE set.

if [[ ! -e stop-etcd.done ]]; then
  stage_start stop-etcd
  # etcd's data is copied; it must not change meanwhile.
  if [[ -e /etc/kubernetes/manifests/etcd-member-pod.yaml ]]; then
    mv /etc/kubernetes/manifests/etcd-member-pod.yaml /etc/kubernetes/bootstrap-manifests/
  fi
  # Only an empty answer means that etcd has stopped; an error of crictl means nothing.
  until running=$(crictl ps --state Running --name '^etcd$' --quiet) && [[ -z $running ]]; do
    echo "waiting for etcd to stop"
    sleep 10
  done
  touch stop-etcd.done
  stage_success
fi

if [[ ! -e master-ignition.done ]]; then
  stage_start master-ignition
  curl --silent --show-error --fail --retry 30 --retry-delay 5 --retry-all-errors \
    --header 'Accept: application/vnd.coreos.ignition+json;version=3.2.0' \
    --output original-master.ign http://localhost:22624/config/master

  # What happened here would be lost with the reboot.
  HOME=/opt/openshift /usr/local/bin/installer-gather.sh --id bootstrap </dev/null
  [[ -e log-bundle-bootstrap.tar.gz ]] || touch log-bundle-bootstrap.tar.gz

  # The default bridge of podman may overlap the machine network, and may not exist at all.
  podman run --quiet --rm --privileged --net=host \
    --volume "$PWD:/assets:z" \
    --volume /usr/local/bin:/assets/bin \
    --volume /var/lib/etcd:/assets/etcd-data \
    --volume /etc/kubernetes:/assets/kubernetes \
    "$CLUSTER_BOOTSTRAP_IMAGE" bootstrap-in-place \
    --asset-dir /assets \
    --input /assets/bootstrap-in-place/master-update.fcc \
    --output /assets/master.ign
  touch master-ignition.done
  stage_success
fi
