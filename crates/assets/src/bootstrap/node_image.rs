//! Files with which a plain CoreOS lays the node image over itself, for releases that need it.

use crate::file::File;
use crate::profiles::{Found, NodeImage};

const PULL: &str = include_str!("files/bin/node-image-pull.sh");
const OVERLAY: &str = include_str!("files/bin/node-image-overlay.sh");
const GENERATOR: &str = include_str!("files/bin/node-image-overlay-generator");

const PULL_UNIT: &str = r"[Unit]
Description=Fetch the operating system of the release
Wants=network-online.target @MOUNT@
After=network-online.target @MOUNT@
Before=node-image-overlay.service
ConditionPathExists=!/run/node-image-pulled

[Service]
Type=oneshot
MountFlags=slave
ExecStartPre=/usr/bin/chcon --reference=/usr/bin/ostree /usr/local/bin/node-image-pull.sh
ExecStart=/usr/local/bin/node-image-pull.sh
RemainAfterExit=true
";

const OVERLAY_UNIT: &str = "\
[Unit]
Description=Lay the operating system of the release over this one
Requires=node-image-pull.service
After=node-image-pull.service

[Service]
Type=oneshot
ExecStart=/usr/local/bin/node-image-overlay.sh
RemainAfterExit=true
";

const FINISH_UNIT: &str = "\
[Unit]
Description=Go on with the start of the system
Requires=node-image-overlay.service
After=node-image-overlay.service

[Service]
Type=oneshot
ExecStart=/usr/bin/systemctl --no-block isolate multi-user.target
";

const TARGET: &str = "\
[Unit]
Description=The operating system of the release is being fetched
Requires=basic.target
Wants=sshd.service getty.target systemd-user-sessions.service node-image-overlay.service node-image-finish.service
After=basic.target
AllowIsolate=yes
";

const MOUNT_UNIT: &str = "\
[Unit]
Description=Room in memory for the operating system of the release
Requires=run-ephemeral.mount
After=run-ephemeral.mount
ConditionPathExists=/run/ostree-live
ConditionPathExists=!/etc/no-var-tmpfs

[Mount]
What=tmpfs
Where=@DIRECTORY@
Type=tmpfs
Options=size=5G
";

const BY_TAG: &str = r#"until node_image=$(image_for @TAG@); do
  sleep 10
done"#;

const BY_PROGRAM: &str = r#"until operator=$(image_for machine-config-operator); do
  sleep 10
done
until podman pull --quiet "$operator" >/dev/null; do
  sleep 10
done
tool=/run/machine-config-osimagestream
container=$(podman create "$operator")
podman cp "$container:/usr/bin/machine-config-osimagestream" "$tool"
podman rm "$container" >/dev/null
until node_image=$("$tool" get os-image-pullspec \
  "--release-image=$RELEASE_IMAGE_DIGEST" \
  "--authfile=$AUTH" \
  --per-host-certs=/etc/containers/certs.d \
  --osimagestream-name=@STREAM@ \
  --trust-bundle=/etc/pki/ca-trust/source/anchors \
  --registry-config=/etc/containers/registries.conf); do
  sleep 10
done
# Memory is short in a live system.
rm -f "$tool"
podman rmi "$operator" >/dev/null || true"#;

/// Scripts, the generator and units, for this way of finding the image.
pub(super) fn files(way: NodeImage, stream: &str, okd: bool) -> Vec<File> {
    let tag = match (way.found, stream) {
        _ if okd => "stream-coreos",
        (Found::TagOfStream, "rhel-10") => "rhel-coreos-10",
        _ => "rhel-coreos",
    };
    let find = match way.found {
        _ if okd => BY_TAG.replace("@TAG@", tag),
        Found::Tag | Found::TagOfStream => BY_TAG.replace("@TAG@", tag),
        Found::Program => BY_PROGRAM.replace("@STREAM@", stream),
    };
    let placed = |text: &str| {
        text.replace("@FIND_NODE_IMAGE@", &find)
            .replace("@DIRECTORY@", way.directory)
            .replace("@MOUNT@", way.mount_unit)
    };
    let unit =
        |name: &str, text: &str| File::secret(format!("etc/systemd/system/{name}"), placed(text));
    vec![
        File::with_mode("usr/local/bin/node-image-pull.sh", placed(PULL), 0o555),
        File::with_mode(
            "usr/local/bin/node-image-overlay.sh",
            placed(OVERLAY),
            0o555,
        ),
        File::with_mode(
            "etc/systemd/system-generators/node-image-overlay-generator",
            GENERATOR,
            0o555,
        ),
        unit("node-image-pull.service", PULL_UNIT),
        unit("node-image-overlay.service", OVERLAY_UNIT),
        unit("node-image-finish.service", FINISH_UNIT),
        unit("node-image-overlay.target", TARGET),
        unit(way.mount_unit, MOUNT_UNIT),
    ]
}
