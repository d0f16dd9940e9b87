//! Units of the bootstrap host.

use muster_ignition::{spec, unit};

use crate::plan::Plan;

const RELEASE_IMAGE: &str = "\
[Unit]
Description=Bring the release image onto this machine
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=/usr/local/bin/release-image-download.sh
RemainAfterExit=true
";

const CRIO_CONFIGURE: &str = "\
[Unit]
Description=Have the container runtime use images of the release
Requires=release-image.service
After=release-image.service
Before=crio.service

[Service]
Type=oneshot
ExecStart=/usr/local/bin/crio-configure.sh
RemainAfterExit=true

[Install]
RequiredBy=crio.service
";

const KUBELET: &str = "\
[Unit]
Description=Kubelet of the bootstrap host
Wants=rpc-statd.service crio.service release-image.service
After=crio.service release-image.service

[Service]
Type=notify
NotifyAccess=all
ExecStartPre=/bin/mkdir --parents /etc/kubernetes/manifests
ExecStartPre=/bin/mkdir --parents /etc/kubernetes/kubelet-plugins/volume/exec
ExecStartPre=/usr/local/bin/kubelet-pause-image.sh
Environment=KUBELET_RUNTIME_REQUEST_TIMEOUT=10m
EnvironmentFile=-/etc/kubernetes/kubelet-env
EnvironmentFile=-/etc/kubernetes/kubelet-pause-image-override
ExecStart=/usr/local/bin/kubelet.sh
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
";

const BOOTKUBE: &str = "\
[Unit]
Description=Bring up the control plane of a new cluster
Requires=crio-configure.service
Wants=kubelet.service
After=kubelet.service crio-configure.service
ConditionPathExists=!/opt/openshift/.bootkube.done

[Service]
WorkingDirectory=/opt/openshift
ExecStart=/usr/local/bin/bootkube.sh
Restart=on-failure
RestartSec=5s
";

const APPROVE_CSR: &str = "\
[Unit]
Description=Approve certificates of nodes while the cluster comes up
Wants=bootkube.service
After=bootkube.service

[Service]
ExecStart=/usr/local/bin/approve-csr.sh /opt/openshift/auth/kubeconfig-loopback
Restart=on-failure
RestartSec=5s

[Install]
WantedBy=multi-user.target
";

const PROGRESS: &str = "\
[Unit]
Description=Report that the cluster no longer needs this machine
Wants=bootkube.service
After=bootkube.service

[Service]
ExecStart=/usr/local/bin/report-progress.sh /opt/openshift/auth/kubeconfig
Restart=on-failure
RestartSec=5s

[Install]
WantedBy=multi-user.target
";

const GATEWAY_CERTIFICATES: &str = "\
[Service]
ExecStart=
ExecStart=/usr/lib/systemd/systemd-journal-gatewayd \\
  --key=/opt/openshift/tls/journal-gatewayd.key \\
  --cert=/opt/openshift/tls/journal-gatewayd.crt \\
  --trust=/opt/openshift/tls/root-ca.crt
";

const NO_UPDATES: &str = "\
[Unit]
# The machine lives for an hour; an update would restart it in the middle of its work.
ConditionPathExists=/this/path/does/not/exist
";

const GATEWAY_OWNER: &str = "\
[Unit]
Description=Let the journal gateway read its key
Before=systemd-journal-gatewayd.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'id systemd-journal-gateway >/dev/null 2>&1 || useradd --system --no-create-home --shell /sbin/nologin systemd-journal-gateway'
ExecStart=/bin/chown systemd-journal-gateway /opt/openshift/tls/journal-gatewayd.key /opt/openshift/tls/journal-gatewayd.crt
RemainAfterExit=true

[Install]
WantedBy=multi-user.target
";

const INSTALL_TO_DISK: &str = "\
[Unit]
Description=Write the node to its disk and start it
Requires=bootkube.service
Wants=bootkube.service
After=bootkube.service
ConditionPathExists=!/opt/openshift/.install-to-disk.done

[Service]
WorkingDirectory=/opt/openshift
ExecStart=/usr/local/bin/install-to-disk.sh
Restart=on-failure
RestartSec=5s

[Install]
WantedBy=multi-user.target
";

/// Units in the order of the table of the fact sheet.
pub(crate) fn units(plan: &Plan, in_place: bool) -> Vec<spec::Unit> {
    let bare = |name: &str| spec::Unit::new(name.to_owned());
    let mut units = vec![
        unit::passive("release-image.service", RELEASE_IMAGE),
        unit::passive("crio-configure.service", CRIO_CONFIGURE),
        unit::enabled("kubelet.service", KUBELET),
        unit::passive("bootkube.service", BOOTKUBE),
        unit::enabled("approve-csr.service", APPROVE_CSR),
        unit::enabled("progress.service", PROGRESS),
        unit::with_dropin(
            bare("systemd-journal-gatewayd.service"),
            "certs.conf",
            GATEWAY_CERTIFICATES,
        ),
        unit::with_dropin(
            bare("zincati.service"),
            "okd-machine-os-disabled.conf",
            NO_UPDATES,
        ),
    ];
    if !plan.release.is_okd() {
        units.push(unit::enabled("chown-gatewayd-key.service", GATEWAY_OWNER));
        units.push(unit::known("systemd-journal-gatewayd.socket"));
    }
    if in_place {
        units.push(unit::enabled("install-to-disk.service", INSTALL_TO_DISK));
    }
    units
}
