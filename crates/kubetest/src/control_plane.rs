//! An API server on loopback.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Issuer, Machine, kube_apiserver};

/// A slow machine may take this long to start everything.
const TIMEOUT: Duration = Duration::from_secs(90);

/// An API server with its store, until the tests end, however they end.
#[derive(Debug)]
pub struct ControlPlane {
    machine: Machine,
    folder: PathBuf,
    port: u16,
    arguments: Vec<String>,
    orders: mpsc::Sender<mpsc::Sender<()>>,
}

impl ControlPlane {
    /// Starts both in an empty folder and waits until they answer.
    ///
    /// # Panics
    /// They do not.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
        let signer = Issuer::new(folder, "signer");
        signer.issue("server", "/CN=server", "serverAuth", "IP:127.0.0.1");
        let subject = "/O=system:masters/CN=administrator";
        signer.issue("admin", subject, "clientAuth", "DNS:admin");
        let ports = [free_port(), free_port(), free_port()];
        let file = |name: &str| folder.join(name).display().to_string();
        let store = format!("http://127.0.0.1:{}", ports[0]);
        let peer = format!("http://127.0.0.1:{}", ports[1]);
        let etcd = vec![
            format!("--data-dir={}", file("etcd")),
            format!("--listen-client-urls={store}"),
            format!("--advertise-client-urls={store}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            // What is stored here is worth nothing after the tests.
            "--unsafe-no-fsync".to_owned(),
        ];
        let arguments = vec![
            format!("--etcd-servers={store}"),
            format!("--secure-port={}", ports[2]),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--tls-cert-file={}", file("server.crt")),
            format!("--tls-private-key-file={}", file("server.key")),
            format!("--client-ca-file={}", file("signer.crt")),
            format!("--service-account-key-file={}", file("signer.crt")),
            format!("--service-account-signing-key-file={}", file("signer.key")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            // As OpenShift's is started.
            "--allow-privileged=true".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--service-cluster-ip-range=172.30.0.0/16".to_owned(),
        ];
        let (orders, received) = mpsc::channel();
        let plane = Self {
            machine: Machine::here(folder),
            folder: folder.to_owned(),
            port: ports[2],
            arguments,
            orders,
        };
        plane.write_kubeconfig();
        plane.serve(etcd, received);
        plane.wait_until_ready();
        plane
    }

    /// Servers die with the thread that started them: this one lives as long as the process.
    fn serve(&self, etcd: Vec<String>, orders: mpsc::Receiver<mpsc::Sender<()>>) {
        let machine = Machine::here(&self.folder);
        let arguments = self.arguments.clone();
        thread::spawn(move || {
            let start = |name: &str, program: &str, arguments: &[String]| {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                machine.serve(name, program, &arguments)
            };
            let program = kube_apiserver().display().to_string();
            let mut store = start("etcd", "etcd", &etcd);
            let mut api = start("kube-apiserver", &program, &arguments);
            while let Ok(done) = orders.recv() {
                stop(&mut api);
                api = start("kube-apiserver", &program, &arguments);
                let _ = done.send(());
            }
            stop(&mut api);
            stop(&mut store);
        });
    }

    /// Stops the API server, which breaks every watch, and starts it again.
    ///
    /// # Panics
    /// It does not come back.
    pub fn restart(&self) {
        let (done, finished) = mpsc::channel();
        self.orders.send(done).unwrap();
        finished.recv().unwrap();
        self.wait_until_ready();
    }

    /// A kubeconfig of the administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    fn write_kubeconfig(&self) {
        let content = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "admin",
            "contexts": [{"name": "admin", "context": {"cluster": "here", "user": "admin"}}],
            "clusters": [{"name": "here", "cluster": {
                "server": format!("https://127.0.0.1:{}", self.port),
                "certificate-authority": "signer.crt",
            }}],
            "users": [{"name": "admin", "user": {
                "client-certificate": "admin.crt",
                "client-key": "admin.key",
            }}],
        });
        fs::write(self.kubeconfig(), content.to_string()).unwrap();
    }

    fn wait_until_ready(&self) {
        let began = Instant::now();
        loop {
            let ready = self.run(&["get", "--raw", "/readyz"], "");
            if ready.status.success() {
                return;
            }
            assert!(
                began.elapsed() < TIMEOUT,
                "{}\netcd: {}\nkube-apiserver: {}",
                String::from_utf8_lossy(&ready.stderr),
                self.machine.log("etcd"),
                self.machine.log("kube-apiserver"),
            );
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// `kubectl` as the administrator, with a text on standard input; it must succeed.
    ///
    /// # Panics
    /// It fails.
    #[must_use]
    pub fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {words}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Creates objects, and waits until the kinds among them can be used.
    ///
    /// # Panics
    /// They are refused.
    pub fn create(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let _ = self.kubectl(&["create", "-f", "-"], &list.to_string());
        let wait = [
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ];
        let _ = self.kubectl(&wait, "");
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        use std::io::Write;
        let mut command = self.machine.command("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command.args(arguments);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // One that does not read its input ends before it is written.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().unwrap()
    }
}

fn stop(server: &mut Child) {
    let _ = server.kill();
    let _ = server.wait();
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
