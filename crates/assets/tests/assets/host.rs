//! A bootstrap host below a directory, with make-believe programs: what its scripts ask of podman,
//! systemctl and others is noted, and what they leave behind can be looked at.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use muster_ignition::Config;

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
    "/etc/tuned",
    "/proc/cmdline",
    "/proc/self/cgroup",
    "/root/.docker",
    "/root/cluster-resources",
    "/tmp/artifacts",
    "/usr/bin/kubelet",
    "/usr/lib/tuned",
    "/usr/local/bin",
    "/var/log/log-bundle",
    "/var/log/pacemaker",
    "/var/log/openshift",
    "/var/lib/etcd",
    "/var/ostree",
];

/// A bootstrap host below a directory: its files, with every absolute path moved there.
pub struct Host {
    root: tempfile::TempDir,
    /// The unit that runs a script.
    units: BTreeMap<String, String>,
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
# A mount whose source is not there is refused.
for word in "$@"; do
  if [[ ${option:-} == --volume && ! -e ${word%%:*} ]]; then
    echo "Error: statfs ${word%%:*}: no such file or directory" >&2
    exit 125
  fi
  option=$word
done
if [[ -s $FAIL ]] && [[ "$*" == *"$(cat "$FAIL")"* ]]; then
  rm -f "$FAIL"
  exit 7
fi
for word in "$@"; do
  # What follows `--flag=/assets/`; the rest is left alone.
  here=$word
  [[ $word != *=/assets/* ]] || here=${word#*=/assets/}
  case $word in
    --asset-output-dir=*/manifests) mkdir -p "$here"; echo "kind: X" >"$here/auth.yaml" ;;
    --dest-dir=/assets/cco-bootstrap)
      # Where there is nothing to look after, nothing is rendered.
      [[ ! -e $ROOT/no-credentials ]] || continue
      mkdir -p "$here"/{manifests,bootstrap-manifests}
      echo "kind: X" >"$here/manifests/cco-operator-config.yaml"
      echo "kind: Pod" >"$here/bootstrap-manifests/cloud-credential-operator-pod.yaml"
      ;;
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
        let (_, config) = ignition(name, version);
        let host = Self {
            root: tempfile::tempdir().unwrap(),
            units: units(&config),
        };
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
        self.run_with(script, arguments, &[])
    }

    /// The same with variables.
    pub fn run_with(&self, script: &str, arguments: &[&str], variables: &[(&str, &str)]) -> bool {
        let path = format!(
            "{}:{}",
            self.path("/fake").display(),
            std::env::var("PATH").unwrap()
        );
        // Where systemd puts the processes of a service, and those of a login session.
        let group = match self.units.get(script) {
            Some(unit) => format!("0::/system.slice/{unit}\n"),
            None => "0::/user.slice/user-1000.slice/session-1.scope\n".to_owned(),
        };
        self.write("/proc/self/cgroup", &group);
        // A script that waits for what never comes must not hold up the tests.
        let output = Command::new("timeout")
            .args(["900", "bash"])
            .arg(self.path(script))
            .args(arguments)
            .current_dir(self.path("/opt/openshift"))
            .env("PATH", path)
            .env("LOG", self.path("/log"))
            .env("FAIL", self.path("/fail"))
            .env("HOME", self.path("/"))
            .env("ROOT", self.root.path())
            .env("KUBELET_RUNTIME_REQUEST_TIMEOUT", "10m")
            .envs(variables.iter().copied())
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

/// Which service starts which script.
fn units(config: &Config) -> BTreeMap<String, String> {
    let named = config.json()["systemd"]["units"].as_array().unwrap().iter();
    let named = named.map(|unit| {
        let text = |key: &str| unit[key].as_str().unwrap_or_default().to_owned();
        (text("name"), text("contents"))
    });
    let folder = "/etc/systemd/system/";
    let files = unpacked(config).into_iter().filter_map(|file| {
        let name = file.path.strip_prefix(folder)?;
        Some((name.to_owned(), file.text()))
    });
    let mut units = BTreeMap::new();
    for (name, text) in named.chain(files) {
        let commands = text.lines().filter_map(|line| {
            let command = line.strip_prefix("ExecStart")?.split_once('=')?.1;
            command.split(' ').next()
        });
        for script in commands {
            units.insert(script.to_owned(), name.clone());
        }
    }
    units
}

fn write_tool(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
