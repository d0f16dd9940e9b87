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
# The target it leads to does not have this service, which must not be killed halfway for that.
KillMode=none
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
until container=$(podman create --quiet "$operator"); do
  sleep 10
done
tool=/run/machine-config-osimagestream
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
    let tag = match way.found {
        _ if okd => "stream-coreos",
        Found::TagOfStream if stream == "rhel-10" => "rhel-coreos-10",
        Found::Tag | Found::TagOfStream | Found::Program => "rhel-coreos",
    };
    let find = match way.found {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_of_okd_is_found_by_the_program_where_the_release_has_it() {
        let script = |found, okd| {
            let way = NodeImage {
                found,
                directory: "/var/x",
                mount_unit: "var-x.mount",
            };
            let stream = if okd { "centos-10" } else { "rhel-10" };
            files(way, stream, okd).remove(0).text()
        };
        for (found, okd, part) in [
            (Found::Tag, false, "image_for rhel-coreos)"),
            (Found::TagOfStream, false, "image_for rhel-coreos-10)"),
            (Found::Program, false, "--osimagestream-name=rhel-10 "),
            (Found::TagOfStream, true, "image_for stream-coreos)"),
            (Found::Program, true, "--osimagestream-name=centos-10 "),
        ] {
            let text = script(found, okd);
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn the_switch_to_the_usual_target_survives_that_its_service_is_stopped() {
        let way = NodeImage {
            found: Found::Tag,
            directory: "/var/x",
            mount_unit: "var-x.mount",
        };
        let all = files(way, "rhel-9", false);
        let path = "etc/systemd/system/node-image-finish.service";
        let unit = all.iter().find(|file| file.path == path).unwrap().text();
        assert!(unit.lines().any(|line| line == "KillMode=none"), "{unit}");
    }
}
