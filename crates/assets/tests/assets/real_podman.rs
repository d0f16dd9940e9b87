//! The real podman reads every command of a bootstrap host: it takes the options, finds an
//! image and looks for the source of each mount. The container itself is only made, not started,
//! because not every machine that runs tests may start one.

use std::fs;
use std::process::Command;

use crate::host::Host;

/// Makes a container of a stand-in image with the same options, then leaves the rest to the
/// make-believe podman.
const PODMAN: &str = r#"export CONTAINERS_STORAGE_CONF="$ROOT/containers/storage.conf" CONTAINERS_CONF="$ROOT/containers/containers.conf"
if [[ $1 == run ]]; then
  words=()
  for word in "${@:2}"; do
    [[ $word != r.example/* ]] || word=localhost/stand-in:1
    words+=("$word")
  done
  /usr/bin/podman create "${words[@]}" >/dev/null || exit 125
  echo >>"$ROOT/accepted"
fi
exec "$ROOT/fake/made-up" "$@""#;

fn with_real_podman(host: &Host) {
    let root = host.path("/");
    let root = root.display();
    host.write(
        "/containers/storage.conf",
        &format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = \"{root}/containers/graph\"\nrunroot = \"{root}/containers/run\"\n"
        ),
    );
    host.write(
        "/containers/containers.conf",
        &format!("[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\ntmp_dir = \"{root}/containers/tmp\"\n"),
    );
    host.write("/containers/tree/file", "");
    let steps = "set -e
cd \"$ROOT/containers\"
tar --create --file layer.tar --directory tree .
podman import --quiet layer.tar localhost/stand-in:1";
    let import = Command::new("bash")
        .args(["-c", steps])
        .env("ROOT", host.path("/"))
        .env(
            "CONTAINERS_STORAGE_CONF",
            host.path("/containers/storage.conf"),
        )
        .env("CONTAINERS_CONF", host.path("/containers/containers.conf"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&import.stderr);
    assert!(import.status.success(), "{said}");
    fs::rename(host.path("/fake/podman"), host.path("/fake/made-up")).unwrap();
    host.tool("podman", PODMAN);
}

#[test]
fn podman_takes_every_command_of_a_single_node() {
    let host = Host::new("none-single-node", "4.20.3");
    fs::create_dir_all(host.path("/var/lib/etcd")).unwrap();
    with_real_podman(&host);
    assert!(host.run("bootkube.sh"), "{}", host.stderr());
    let accepted = host.read("/accepted").lines().count();
    assert!(accepted > 15, "{accepted}");
}

/// The oldest release, and one that knows every option there is.
#[test]
fn podman_takes_every_command_of_several_nodes() {
    for (name, version) in [
        ("none-compact", "4.14.0"),
        ("none-highly-available", "5.0.0"),
    ] {
        let host = Host::new(name, version);
        with_real_podman(&host);
        assert!(host.run("bootkube.sh"), "{version}: {}", host.stderr());
        let accepted = host.read("/accepted").lines().count();
        assert!(accepted > 10, "{version}: {accepted}");
    }
}
