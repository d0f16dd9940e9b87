//! The node image over a booted CoreOS, with the real ostree and rsync: a deployment of a small tree is
//! entered as the root of a machine, in mount and process namespaces of its own, and the scripts run
//! there as they are. Only the download is made up, because Debian's ostree reads no containers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::cases::{ignition, unpacked};

/// Makes a booted image, deploys it, and changes its `/etc` as Ignition does. A live system has a
/// copy of `/etc` on a mount of its own; an installed one changes that of the deployment.
const MAKE: &str = r#"set -euo pipefail
cd "$ROOT"
mkdir -p booted/{usr/etc,usr/lib/modules/6.1,boot,dev,proc,run,sys,sysroot,tmp,var} sysroot var
ln -s sysroot/ostree booted/ostree
for link in bin lib lib64 sbin; do ln -s "usr/$link" "booted/$link"; done
echo kernel >booted/usr/lib/modules/6.1/vmlinuz
echo ID=coreos >booted/usr/lib/os-release
put() { # put TREE FILE...: files that hold the name of their tree
  local tree=$1 file
  shift
  for file; do
    mkdir -p "$(dirname "$tree/usr/etc/$file")"
    echo "${tree##*/}" >"$tree/usr/etc/$file"
  done
}
put booted containers/registries.conf untouched removed 'with space' crypto-policies/config
put var/node containers/registries.conf untouched removed 'with space' crypto-policies/config \
  crio/crio.conf.d/00-default crio/crio.conf.d/99-ours added
mkdir -p var/node/usr/lib/modules
ostree admin init-fs --modern sysroot
ostree admin os-init --sysroot=sysroot coreos
ostree commit --repo=sysroot/ostree/repo --branch=ostree/container/blob/base booted
ostree refs --repo=sysroot/ostree/repo --create=ostree/container/image/oci_3A_base ostree/container/blob/base
ostree admin deploy --sysroot=sysroot --os=coreos ostree/container/blob/base
deployment=$(echo sysroot/ostree/deploy/coreos/deploy/*.0)
if [[ -n $LIVE ]]; then
  cp --archive "$deployment/etc" etc
else
  ln -s "$deployment/etc" etc
fi
for file in containers/registries.conf 'with space' crio/crio.conf.d/99-ours; do
  mkdir -p "$(dirname "etc/$file")"
  echo ignition >"etc/$file"
done
rm etc/removed
"#;

/// Runs a script with the deployment as its root.
const ENTER: &str = r#"set -euo pipefail
cd "$ROOT"
mkdir -p machine
mount --bind sysroot/ostree/deploy/coreos/deploy/*.0 machine
mount --bind sysroot machine/sysroot
mount --bind sysroot/boot machine/boot
mount --bind /usr machine/usr
mount --bind bin machine/usr/local/bin
mount --bind /dev machine/dev
mount --bind var machine/var
mount -t proc proc machine/proc
mount -t tmpfs tmpfs machine/run
mount -t tmpfs tmpfs machine/tmp
mkdir machine/run/lock
touch machine/run/ostree-booted cmdline
if [[ -n $LIVE ]]; then
  mount --bind etc machine/etc
  touch machine/run/ostree-live
  echo coreos.liveiso=x >cmdline
fi
mount --bind cmdline machine/proc/cmdline
mkdir -p machine/root
exec chroot machine /usr/bin/env HOME=/root PATH=/usr/local/bin:/usr/bin:/bin "$SCRIPT"
"#;

const OSTREE: &str = r#"#!/usr/bin/env bash
echo "ostree $*" >>/var/calls
if [[ "$1 $2 $3" == "container image pull" ]]; then
  # The registry answers at the second try.
  [[ -e /var/asked ]] || { touch /var/asked; exit 1; }
  exec /usr/bin/ostree commit --repo="$6" --tree=dir=/var/node \
    --branch=ostree/container/image/docker_3A__2F__2F_r_2E_example/os_40_sha256_3A_5 >/dev/null
fi
exec /usr/bin/ostree "$@"
"#;

/// Knows the image by a tag of the release, and has the program that knows it.
const PODMAN: &str = r#"#!/usr/bin/env bash
echo "podman $*" >>/var/calls
case "$*" in
  "image inspect"*) echo '[{"Digest":"sha256:1","RepoDigests":["r.example/release@sha256:1"]}]' ;;
  *"image rhel-coreos") echo r.example/os@sha256:5 ;;
  *"image machine-config-operator") echo r.example/operator@sha256:6 ;;
  "create --quiet r.example/operator@sha256:6")
    # The registry answers at the second try.
    [[ -e /var/created ]] || { touch /var/created; exit 125; }
    echo c1 ;;
  "cp c1:/usr/bin/machine-config-osimagestream "*) cp /var/program "$3" ;;
esac
"#;

const PROGRAM: &str = "#!/usr/bin/env bash
echo \"program $*\" >>/var/calls
echo r.example/os@sha256:5
";

/// The programs of this machine must not go, so `/usr` is not covered.
const MOUNT: &str = r#"#!/usr/bin/env bash
echo "mount $*" >>/var/calls
[[ "$*" == */usr* ]] || exec /usr/bin/mount "$@"
"#;

const NOTED: &str = "#!/usr/bin/env bash\necho \"${0##*/} $*\" >>/var/calls\n";

struct Machine {
    root: tempfile::TempDir,
    live: bool,
}

/// A release whose node image has a tag, and one whose program knows it.
const BY_TAG: (&str, &str) = ("none-two-nodes-fencing", "4.20.3");
const BY_PROGRAM: (&str, &str) = ("none-highly-available", "5.0.0");

impl Machine {
    fn boot((name, version): (&str, &str), live: bool) -> Self {
        let machine = Self {
            root: tempfile::tempdir().unwrap(),
            live,
        };
        for folder in ["bin", "var"] {
            fs::create_dir(machine.path(folder)).unwrap();
        }
        machine.executable("var/program", PROGRAM);
        let (_, config) = ignition(name, version);
        for file in unpacked(&config) {
            if let Some(name) = file.path.strip_prefix("/usr/local/bin/") {
                machine.program(name, &file.text());
            }
        }
        for (name, text) in [("ostree", OSTREE), ("podman", PODMAN), ("mount", MOUNT)] {
            machine.program(name, text);
        }
        for name in [
            "systemctl",
            "journalctl",
            "sleep",
            "selinuxenabled",
            "semodule",
        ] {
            machine.program(name, NOTED);
        }
        let mut make = Command::new("bash");
        // Deployments that cannot be deleted would stay behind.
        make.arg("-c")
            .arg(MAKE)
            .env("OSTREE_SYSROOT_DEBUG", "mutable-deployments");
        machine.go(make);
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn program(&self, name: &str, text: &str) {
        self.executable(&format!("bin/{name}"), text);
    }

    fn executable(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn go(&self, mut command: Command) {
        let live = if self.live { "yes" } else { "" };
        let output = command
            .env("ROOT", self.root.path())
            .env("LIVE", live)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }

    fn run(&self, script: &str) {
        // The scripts wait for ever for what does not come.
        let mut enter = Command::new("timeout");
        enter
            .args([
                "60",
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
            ])
            .args(["bash", "-c", ENTER])
            .env("SCRIPT", format!("/usr/local/bin/{script}"));
        self.go(enter);
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("var/calls")).unwrap();
        calls.lines().map(str::to_owned).collect()
    }

    /// Which tree a file of `/etc` comes from.
    fn etc(&self, file: &str) -> Option<String> {
        let text = fs::read_to_string(self.path("etc").join(file)).ok()?;
        Some(text.trim().to_owned())
    }
}

fn overlaid(release: (&str, &str), live: bool) -> Machine {
    let machine = Machine::boot(release, live);
    machine.run("node-image-pull.sh");
    machine.run("node-image-overlay.sh");
    for (file, from) in [
        ("containers/registries.conf", Some("ignition")),
        ("with space", Some("ignition")),
        ("crio/crio.conf.d/99-ours", Some("ignition")),
        ("removed", None),
        ("untouched", Some("node")),
        ("added", Some("node")),
        ("crio/crio.conf.d/00-default", Some("node")),
        ("crypto-policies/config", Some("booted")),
    ] {
        assert_eq!(machine.etc(file).as_deref(), from, "{file}");
    }
    machine
}

fn at(calls: &[String], call: &str) -> usize {
    let found = calls.iter().rposition(|known| known == call);
    found.unwrap_or_else(|| panic!("{call} in {calls:#?}"))
}

#[test]
fn a_live_system_unpacks_the_node_image_into_memory_and_keeps_what_ignition_wrote() {
    let machine = overlaid(BY_TAG, true);
    let calls = machine.calls();
    let repo = "/var/ostree-container/repo";
    let shared = format!("ostree pull-local --repo={repo} /ostree/repo ostree/container/blob/base");
    let pull = format!(
        "ostree container image pull --authfile /root/.docker/config.json {repo} \
         ostree-unverified-image:docker://r.example/os@sha256:5"
    );
    assert!(at(&calls, &shared) < at(&calls, &pull), "{calls:#?}");
    let tries = calls.iter().filter(|call| **call == pull).count();
    assert_eq!(tries, 2, "{calls:#?}");
    assert!(!machine.path(repo).exists(), "memory is short");
}

#[test]
fn an_installed_system_takes_the_image_of_the_registry_and_not_the_one_it_was_made_from() {
    let machine = overlaid(BY_TAG, false);
    let calls = machine.calls();
    let remount = at(&calls, "mount -o remount,rw /sysroot");
    let named = calls
        .iter()
        .position(|call| call.contains("--create=coreos/node-image"))
        .unwrap();
    assert!(remount < named, "{calls:#?}");
    let docker = "ostree/container/image/docker_3A_";
    assert!(calls[named].contains(docker), "{}", calls[named]);
    let repository = machine.path("sysroot/ostree/repo");
    assert!(repository.join("tmp/node-image/usr/etc/added").exists());
}

#[test]
fn the_node_image_covers_the_system_and_logins_work_afterwards() {
    let machine = overlaid(BY_TAG, true);
    let calls = machine.calls();
    let checkout = "/var/ostree-container/checkout";
    let expected = [
        format!("mount --bind --options ro /usr/lib/modules {checkout}/usr/lib/modules"),
        format!("mount --rbind --options ro {checkout}/usr /usr"),
        "selinuxenabled ".to_owned(),
        "semodule --reload".to_owned(),
        "systemctl --no-block try-restart sshd.service".to_owned(),
    ];
    let places: Vec<usize> = expected.iter().map(|call| at(&calls, call)).collect();
    assert!(places.is_sorted(), "{calls:#?}");
}

#[test]
fn the_program_of_the_release_is_asked_for_the_image() {
    let machine = overlaid(BY_PROGRAM, true);
    let calls = machine.calls();
    let asked = "program get os-image-pullspec --release-image=r.example/release@sha256:1 \
                 --authfile=/root/.docker/config.json --per-host-certs=/etc/containers/certs.d \
                 --osimagestream-name=rhel-10 --trust-bundle=/etc/pki/ca-trust/source/anchors \
                 --registry-config=/etc/containers/registries.conf";
    let cleaned = at(&calls, "podman rmi r.example/operator@sha256:6");
    assert!(at(&calls, asked) < cleaned, "{calls:#?}");
    let tries = "podman create --quiet r.example/operator@sha256:6";
    assert_eq!(calls.iter().filter(|call| *call == tries).count(), 2);
    let checkout = machine.path("/var/ostreecontainer/checkout/usr/etc/added");
    assert!(checkout.exists());
}
