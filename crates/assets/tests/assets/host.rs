//! A bootstrap host below a directory, with make-believe programs: what its scripts ask of podman,
//! systemctl and others is noted, and what they leave behind can be looked at.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases::{ignition, unpacked};

/// Paths that mean the host when a script names them.
const PLACES: &[&str] = &[
    "/opt/openshift",
    "/etc/kubernetes",
    "/etc/mcc",
    "/etc/mcs",
    "/etc/ssl",
    "/etc/crio",
    "/etc/issue.d",
    "/etc/resolv.conf",
    "/etc/systemd/resolved.conf.d",
    "/run/NetworkManager",
    "/run/ostree-live",
    "/run/node-image-pulled",
    "/ostree/repo",
    "/proc/cmdline",
    "/root/.docker",
    "/tmp/artifacts",
    "/usr/bin/kubelet",
    "/usr/local/bin",
    "/var/log/log-bundle",
    "/var/log/openshift",
    "/var/lib/etcd",
    "/var/ostree",
];

/// A bootstrap host below a directory: its files, with every absolute path moved there.
pub struct Host {
    root: tempfile::TempDir,
}

const PODMAN: &str = r##"#!/usr/bin/env bash
# Stands in for podman: notes what it is asked, and leaves behind what the real program would.
echo "podman $*" >>"$LOG"
case "$1 ${2:-}" in
  "image exists") exit 0 ;;
  "image inspect") echo '[{"Architecture":"amd64","Digest":"sha256:1","RepoDigests":["r.example/release@sha256:0","r.example/release@sha256:1"]}]'; exit 0 ;;
esac
if [[ "$*" == *"--entrypoint cat"* ]]; then
  echo '{"metadata":{"name":"4.20.3"},"spec":{"tags":['
  for name in etcd hyperkube pod machine-config-operator cluster-etcd-operator cluster-config-api \
    cluster-config-operator cluster-kube-apiserver-operator cluster-kube-controller-manager-operator \
    cluster-kube-scheduler-operator cluster-ingress-operator cluster-node-tuning-operator \
    cluster-authentication-operator cloud-credential-operator cluster-policy-controller; do
    echo "{\"name\":\"$name\",\"from\":{\"kind\":\"DockerImage\",\"name\":\"r.example/$name@sha256:1\"}},"
  done
  echo '{"name":"cluster-bootstrap","annotations":{"io.openshift.build.versions":"kubernetes=1.33.5"},"from":{"kind":"DockerImage","name":"r.example/cluster-bootstrap@sha256:1"}}]}}'
  exit 0
fi
if [[ -s $FAIL ]] && [[ "$*" == *"$(cat "$FAIL")"* ]]; then
  rm -f "$FAIL"
  exit 7
fi
for word in "$@"; do
  here=$(sed 's|^[^=]*=/assets/||' <<<"$word")
  case $word in
    --asset-output-dir=*/manifests) mkdir -p "$here"; echo "kind: X" >"$here/auth.yaml" ;;
    --asset-output-dir=* | --output-dir=* | --dest-dir=*)
      mkdir -p "$here"/{manifests,bootstrap-manifests,bootstrap/manifests,tls,etc-kubernetes/manifests}
      echo "kind: X" >"$here/manifests/from-$(basename "$here").yaml"
      echo "kind: Pod" >"$here/bootstrap/machineconfigoperator-bootstrap-pod.yaml"
      [[ $here != etcd* ]] || echo "kind: Pod" >"$here/etc-kubernetes/manifests/etcd-member-pod.yaml"
      [[ $here != cvo* ]] || { rm -rf "$here/bootstrap"; mkdir -p "$here/bootstrap"; echo x >"$here/bootstrap/cvo-pod.yaml"; }
      ;;
    --config-output-file=* | --cpc-config-output-file=*) mkdir -p "$(dirname "$here")"; echo x >"$here" ;;
    --output) out=1 ;;
    /assets/master.ign) [[ -z ${out:-} ]] || echo '{}' >master.ign ;;
  esac
done
exit 0
"##;

/// Other programs: note the call, succeed.
const QUIET: &str = "#!/usr/bin/env bash\necho \"${0##*/} $*\" >>\"$LOG\"\n";
const CURL: &str = "#!/usr/bin/env bash\necho \"curl $*\" >>\"$LOG\"\nwhile (($#)); do [[ $1 != --output ]] || { [[ $2 == /dev/null ]] || echo '{}' >\"$2\"; }; shift; done\nprintf 200\n";

impl Host {
    pub fn new(name: &str, version: &str) -> Self {
        let host = Self {
            root: tempfile::tempdir().unwrap(),
        };
        let (_, config) = ignition(name, version);
        for file in unpacked(&config) {
            let path = host.path(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let content = if file.text().starts_with("#!/usr/bin/env bash") {
                host.moved(&file.text()).into_bytes()
            } else {
                file.content
            };
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let tools = host.path("/fake");
        fs::create_dir_all(&tools).unwrap();
        for (tool, text) in [("podman", PODMAN), ("curl", CURL)] {
            write_tool(&tools.join(tool), text);
        }
        for tool in [
            "oc",
            "systemctl",
            "journalctl",
            "getent",
            "agetty",
            "sleep",
            "crictl",
            "shutdown",
            "coreos-installer",
            "ip",
            "rpm-ostree",
            "hostname",
        ] {
            write_tool(&tools.join(tool), QUIET);
        }
        host
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    /// A script whose absolute paths lie below our directory.
    fn moved(&self, script: &str) -> String {
        let root = self.root.path().to_str().unwrap();
        let mut script = script.to_owned();
        for place in PLACES {
            script = script.replace(place, &format!("{root}{place}"));
        }
        script
    }

    /// Runs a script of the host and returns whether it went well.
    pub fn run(&self, script: &str) -> bool {
        self.run_file(&format!("/usr/local/bin/{script}"), &[])
    }

    /// The same for a script anywhere, with arguments.
    pub fn run_file(&self, script: &str, arguments: &[&str]) -> bool {
        let path = format!(
            "{}:{}",
            self.path("/fake").display(),
            std::env::var("PATH").unwrap()
        );
        let output = Command::new("bash")
            .arg(self.path(script))
            .args(arguments)
            .current_dir(self.path("/opt/openshift"))
            .env("PATH", path)
            .env("LOG", self.path("/log"))
            .env("FAIL", self.path("/fail"))
            .env("HOME", self.path("/"))
            .env("ROOT", self.root.path())
            .env("KUBELET_RUNTIME_REQUEST_TIMEOUT", "10m")
            .output()
            .unwrap();
        fs::write(self.path("/stderr"), &output.stderr).unwrap();
        output.status.success()
    }

    /// Gives a program another body; its calls are still noted.
    pub fn tool(&self, name: &str, body: &str) {
        let text = format!("#!/usr/bin/env bash\necho \"{name} $*\" >>\"$LOG\"\n{body}\n");
        write_tool(&self.path("/fake").join(name), &text);
    }

    /// Writes a file of the host.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Where a file of this name is, as the host calls it.
    pub fn find(&self, name: &str) -> Option<String> {
        let mut folders = vec![self.root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.file_name().is_some_and(|known| known == name) {
                    let path = path.strip_prefix(self.root.path()).unwrap();
                    return Some(format!("/{}", path.display()));
                }
            }
        }
        None
    }

    /// What was asked of one program.
    pub fn calls_of(&self, tool: &str) -> Vec<String> {
        let mut calls = self.calls();
        calls.retain(|call| call.starts_with(&format!("{tool} ")));
        calls
    }

    /// Phase, stage and result of every entry in the record of a service.
    pub fn record(&self, service: &str) -> Vec<(String, String, String)> {
        let text = self.read(&format!("/var/log/openshift/{service}.json"));
        let record: serde_json::Value = serde_json::from_str(&text).unwrap();
        let part = |entry: &serde_json::Value, key: &str| {
            entry[key].as_str().unwrap_or_default().to_owned()
        };
        let entries = record.as_array().unwrap().iter();
        entries
            .map(|entry| {
                (
                    part(entry, "phase"),
                    part(entry, "stage"),
                    part(entry, "result"),
                )
            })
            .collect()
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(self.path("/stderr")).unwrap()
    }

    /// What was asked of the programs so far, paths as on a real machine.
    pub fn calls(&self) -> Vec<String> {
        let root = self.root.path().to_str().unwrap();
        let log = fs::read_to_string(self.path("/log")).unwrap_or_default();
        log.lines().map(|line| line.replace(root, "")).collect()
    }

    /// Components whose programs ran, in order.
    pub fn components(&self) -> Vec<String> {
        let runs = self.calls();
        runs.iter()
            .filter(|call| call.starts_with("podman run") && !call.contains("--entrypoint cat"))
            .filter_map(|call| {
                let word = call
                    .split(' ')
                    .find(|word| word.starts_with("r.example/"))?;
                let (_, name) = word.split_once('/')?;
                Some(name.split('@').next().unwrap_or(name).to_owned())
            })
            .collect()
    }

    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    pub fn forget(&self) {
        fs::remove_file(self.path("/log")).unwrap();
    }
}

fn write_tool(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
