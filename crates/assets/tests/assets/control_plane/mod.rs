//! The certificates at work: a real etcd and a real kube-apiserver start with what the generator
//! made, each file in the role it was made for, on the names and ports of a real cluster.
//!
//! What operators add on a bootstrap host (certificates of etcd, roles of nodes) the tests add the
//! same way. `tests/setup-kube-apiserver` builds the server.

mod access;
mod agent_based;
mod nodes;
mod schemas;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use muster_assets::workdir::Target;

use crate::cases::{Directory, unpacked};
use muster_kubetest::{Issuer, Machine, kube_apiserver};

/// Of the install-config `none-highly-available`.
const DOMAIN: &str = "ha.example.org";
/// Of the bootstrap host, in the machine network of that install-config.
const ADDRESS: &str = "192.168.111.10";
/// First address of its service network.
const SERVICE_ADDRESS: &str = "172.30.0.1";
/// A slow machine may take this long to start everything.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A control plane that runs until the tests end, however they end.
struct ControlPlane {
    machine: Machine,
    /// `/opt/openshift` of the bootstrap host, and `auth/` of the user.
    folder: PathBuf,
    servers: Vec<Child>,
}

fn control_plane() -> &'static ControlPlane {
    static RUNNING: LazyLock<ControlPlane> = LazyLock::new(|| {
        let (started, receiver) = mpsc::channel();
        // Servers die with the thread that started them: this one lives as long as the process.
        thread::spawn(move || {
            let _ = started.send(ControlPlane::start());
            loop {
                thread::park();
            }
        });
        receiver.recv().expect("the control plane starts")
    });
    &RUNNING
}

impl ControlPlane {
    fn start() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("control-plane");
        let _ = fs::remove_dir_all(&folder);
        write_assets(&folder);
        let names = [
            (ADDRESS, format!("api.{DOMAIN} api-int.{DOMAIN}")),
            (
                SERVICE_ADDRESS,
                "kubernetes.default.svc openshift.default.svc.cluster.local".to_owned(),
            ),
        ];
        let mut plane = Self {
            machine: Machine::start(&folder, &names),
            folder,
            servers: Vec::new(),
        };
        let etcd = plane.start_etcd();
        plane.servers.push(etcd);
        let api = plane.start_api_server();
        plane.servers.push(api);
        plane.wait_until_ready();
        plane
    }

    fn tls(&self, name: &str) -> String {
        self.folder.join("tls").join(name).display().to_string()
    }

    /// With the certificates the etcd operator makes on the bootstrap host.
    fn start_etcd(&self) -> Child {
        let signer = Issuer::new(&self.folder.join("tls"), "etcd-signer");
        let here = format!("DNS:localhost,IP:127.0.0.1,IP:{ADDRESS}");
        let both = "serverAuth,clientAuth";
        signer.issue(
            "etcd-serving",
            "/O=system:etcd-servers/CN=etcd",
            both,
            &here,
        );
        signer.issue("etcd-peer", "/O=system:etcd-peers/CN=etcd", both, &here);
        signer.issue("etcd-client", "/O=etcd/CN=etcd", "clientAuth", "DNS:etcd");
        let peer = format!("https://{ADDRESS}:2380");
        let client = format!("https://{ADDRESS}:2379");
        let ca = self.tls("etcd-signer.crt");
        let data = self.folder.join("etcd");
        self.machine.serve(
            "etcd",
            "etcd",
            &[
                "--name=bootstrap",
                &format!("--data-dir={}", data.display()),
                &format!("--listen-client-urls=https://127.0.0.1:2379,{client}"),
                &format!("--advertise-client-urls={client}"),
                &format!("--listen-peer-urls={peer}"),
                &format!("--initial-advertise-peer-urls={peer}"),
                &format!("--initial-cluster=bootstrap={peer}"),
                "--client-cert-auth",
                &format!("--trusted-ca-file={ca}"),
                &format!("--cert-file={}", self.tls("etcd-serving.crt")),
                &format!("--key-file={}", self.tls("etcd-serving.key")),
                "--peer-client-cert-auth",
                &format!("--peer-trusted-ca-file={ca}"),
                &format!("--peer-cert-file={}", self.tls("etcd-peer.crt")),
                &format!("--peer-key-file={}", self.tls("etcd-peer.key")),
            ],
        )
    }

    fn start_api_server(&self) -> Child {
        // A file of tls/ and what the server uses it for.
        let roles = [
            ("etcd-cafile", "etcd-signer.crt"),
            ("etcd-certfile", "etcd-client.crt"),
            ("etcd-keyfile", "etcd-client.key"),
            ("tls-cert-file", "kube-apiserver-service-network-server.crt"),
            (
                "tls-private-key-file",
                "kube-apiserver-service-network-server.key",
            ),
            (
                "client-ca-file",
                "kube-apiserver-complete-client-ca-bundle.crt",
            ),
            (
                "kubelet-certificate-authority",
                "kubelet-serving-ca-bundle.crt",
            ),
            (
                "kubelet-client-certificate",
                "kube-apiserver-to-kubelet-client.crt",
            ),
            ("kubelet-client-key", "kube-apiserver-to-kubelet-client.key"),
            ("requestheader-client-ca-file", "aggregator-ca-bundle.crt"),
            ("proxy-client-cert-file", "aggregator-client.crt"),
            ("proxy-client-key-file", "aggregator-client.key"),
            ("service-account-key-file", "service-account.pub"),
            ("service-account-signing-key-file", "service-account.key"),
        ];
        let named = ["localhost", "lb", "internal-lb"].map(|name| {
            let file = self.tls(&format!("kube-apiserver-{name}-server"));
            format!("--tls-sni-cert-key={file}.crt,{file}.key")
        });
        let mut arguments: Vec<String> = roles
            .iter()
            .map(|(flag, file)| format!("--{flag}={}", self.tls(file)))
            .chain(named)
            .collect();
        arguments.extend(
            [
                "--etcd-servers=https://localhost:2379",
                "--secure-port=6443",
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction",
                "--service-cluster-ip-range=172.30.0.0/16",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--requestheader-allowed-names=system:kube-apiserver-proxy",
                "--requestheader-username-headers=X-Remote-User",
                "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            ]
            .map(str::to_owned),
        );
        arguments.push(format!("--advertise-address={ADDRESS}"));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let program = kube_apiserver().display().to_string();
        self.machine.serve("kube-apiserver", &program, &arguments)
    }

    fn wait_until_ready(&mut self) {
        let began = Instant::now();
        loop {
            let ready = self.kubectl("auth/kubeconfig-loopback", &["get", "--raw", "/readyz"]);
            if ready.status.success() {
                return;
            }
            let ended = |server: &mut Child| server.try_wait().unwrap().is_some();
            assert!(
                began.elapsed() < TIMEOUT && !self.servers.iter_mut().any(ended),
                "{}\netcd: {}\nkube-apiserver: {}",
                said(&ready),
                self.machine.log("etcd"),
                self.machine.log("kube-apiserver"),
            );
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// `kubectl` with one of the generated kubeconfigs.
    fn kubectl(&self, kubeconfig: &str, arguments: &[&str]) -> Output {
        let path = self.folder.join(kubeconfig).display().to_string();
        let mut all = vec!["--kubeconfig", path.as_str()];
        all.extend(arguments);
        self.run("kubectl", &all, "")
    }

    /// The same as the administrator, with an object on standard input; it must succeed.
    fn admin(&self, arguments: &[&str], object: &str) -> String {
        let kubeconfig = self.folder.join("auth/kubeconfig").display().to_string();
        let mut all = vec!["--kubeconfig", kubeconfig.as_str()];
        all.extend(arguments);
        let output = self.run("kubectl", &all, object);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Any program on the machine, fed with a text.
    fn run(&self, program: &str, arguments: &[&str], input: &str) -> Output {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), input).unwrap();
        let mut command: Command = self.machine.command(program);
        command
            .args(arguments)
            .stdin(Stdio::from(file.reopen().unwrap()))
            .output()
            .unwrap()
    }
}

/// What `create ignition-configs` makes now, laid out as on the bootstrap host.
fn write_assets(folder: &Path) {
    let mut directory = Directory::with("none-highly-available");
    let second = Timestamp::now().as_second();
    directory.now = Some(Timestamp::from_second(second).unwrap());
    directory.create(Target::IgnitionConfigs, "5.0.0");
    let write = |path: &str, content: &[u8]| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    for file in unpacked(&directory.config("bootstrap.ign")) {
        if let Some(path) = file.path.strip_prefix("/opt/openshift/") {
            let path = match path {
                "auth/kubeconfig" => "auth/kubeconfig-internal",
                path => path,
            };
            write(path, &file.content);
        }
    }
    write("auth/kubeconfig", &directory.files["auth/kubeconfig"]);
}

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}
