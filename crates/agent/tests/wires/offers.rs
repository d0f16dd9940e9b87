//! What a network offers its machines: names, time, keys.

use std::{
    fs,
    net::TcpListener,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::json;

use crate::{
    lab::Lab,
    program::{command, run},
    room::Machine,
    service::ADDRESS,
};

const NAMES: [&str; 3] = [
    "api-domain-name-resolved-correctly",
    "api-int-domain-name-resolved-correctly",
    "apps-domain-name-resolved-correctly",
];
const WILDCARD: &str = "dns-wildcard-not-configured";

pub fn names() {
    let lab = Lab::new(&json!({"user_managed_networking": true}));
    let serve = |records: &[&str]| {
        let listen = format!("--listen-address={ADDRESS}");
        let mut args = vec![
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--user=root",
            "--no-resolv",
            "--no-hosts",
            "--bind-interfaces",
            &listen,
        ];
        args.extend(records);
        lab.room.server("/usr/sbin/dnsmasq", &args)
    };
    let records = [
        "--host-record=api.wires.example.com,192.168.70.100",
        "--host-record=api-int.wires.example.com,192.168.70.100",
        "--address=/apps.wires.example.com/192.168.70.101",
    ];
    let host = lab.one_host();
    let expect = |names: &str, wildcard: &str| {
        for name in NAMES {
            lab.expect(&host, name, names);
        }
        lab.expect(&host, WILDCARD, wildcard);
    };
    let server = serve(&["--local=/example.com/"]);
    expect("failure", "success");
    drop(server);
    let server = serve(&records);
    expect("success", "success");
    drop(server);
    let server = serve(&["--address=/wires.example.com/192.168.70.100"]);
    expect("success", "failure");
    drop(server);
    let _server = serve(&records);
    expect("success", "success");
}

pub fn time() {
    let lab = Lab::new(&json!({"additional_ntp_source": "10.99.0.99"}));
    let machine = lab.machine(11);
    // Without the right to set a clock (-x): there is only one, and it is this machine's.
    let config = lab
        .room
        .write("host-chrony.conf", "pidfile /run/chronyd.pid\ncmdport 0\n");
    let config = config.display().to_string();
    let follow = |host: &Machine| {
        let args = ["-x", "-d", "-u", "root", "-f", &config];
        host.server(&lab.room, "/usr/sbin/chronyd", &args)
    };
    let pid = lab.room.file("chronyd.pid").display().to_string();
    let text = format!(
        "local stratum 3\nallow all\nbindaddress {ADDRESS}\ncmdport 0\nbindcmdaddress /\npidfile {pid}\n"
    );
    let source = lab.room.write("chrony.conf", &text).display().to_string();
    let serve = || {
        let args = ["-x", "-d", "-u", "root", "-f", &source];
        lab.room.server("/usr/sbin/chronyd", &args)
    };
    let server = serve();
    let clock = follow(&machine);
    let host = lab.host_all([(machine, 11)]).remove(0);
    lab.expect(&host, "ntp-synced", "failure");
    lab.change_cluster(&json!({"additional_ntp_source": ADDRESS}));
    lab.expect(&host, "ntp-synced", "success");
    drop(server);
    drop(clock);
    let clock = follow(&host.machine);
    lab.expect(&host, "ntp-synced", "failure");
    drop(clock);
    let _server = serve();
    let _clock = follow(&host.machine);
    lab.expect(&host, "ntp-synced", "success");
}

/// A Tang server. Debian's uses standard input and output, so this accepts
/// the connections; dropping it stops the server.
struct Tang(Arc<AtomicBool>);

impl Tang {
    fn start(address: &str, keys: PathBuf) -> Self {
        let calls = TcpListener::bind(address).expect("an address in the room");
        calls
            .set_nonblocking(true)
            .expect("a listener need not wait");
        let stopped = Arc::new(AtomicBool::new(false));
        let server = Self(Arc::clone(&stopped));
        thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let Ok((call, _)) = calls.accept() else {
                    thread::sleep(Duration::from_millis(50));
                    continue;
                };
                call.set_nonblocking(false).expect("a connection may wait");
                let answer = call.try_clone().expect("a connection has two ends");
                let tang = command("/usr/libexec/tangd")
                    .arg(&keys)
                    .stdin(OwnedFd::from(call))
                    .stdout(OwnedFd::from(answer))
                    .stderr(Stdio::null())
                    .spawn();
                let mut tang = tang.expect("this story needs tang (`scripts/prepare test`)");
                thread::spawn(move || tang.wait());
            }
        });
        server
    }
}

impl Drop for Tang {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        // The next server may need the address.
        thread::sleep(Duration::from_millis(200));
    }
}

/// Makes keys; the thumbprint of the one that signs, which is the name of its file.
fn keys_in(folder: &Path) -> String {
    fs::create_dir(folder).unwrap();
    run(command("/usr/libexec/tangd-keygen").arg(folder));
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let signs = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("\"sign\"");
    let file = files
        .into_iter()
        .find(signs)
        .expect("one of the keys signs");
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

pub fn tang() {
    const ENCRYPTION: &str = "disk-encryption-requirements-satisfied";
    let lab = Lab::new(&json!({"name": "wires"}));
    let keys = lab.room.file("keys");
    let thumbprint = keys_in(&keys);
    let address = format!("{ADDRESS}:7500");
    let with = |thumbprint: &str| {
        let servers = json!([{"url": format!("http://{address}"), "thumbprint": thumbprint}]);
        lab.change_cluster(&json!({"disk_encryption": {
            "enable_on": "all", "mode": "tang", "tang_servers": servers.to_string(),
        }}));
    };
    with(&thumbprint);
    let host = lab.one_host();
    lab.expect(&host, ENCRYPTION, "failure");
    let server = Tang::start(&address, keys.clone());
    lab.expect(&host, ENCRYPTION, "success");
    // The keys of another server.
    with("XXXX-not-a-key-of-this-server_XXXXXXXXXXXXX");
    lab.expect(&host, ENCRYPTION, "failure");
    with(&thumbprint);
    lab.expect(&host, ENCRYPTION, "success");
    drop(server);
    lab.expect(&host, ENCRYPTION, "failure");
    let _server = Tang::start(&address, keys);
    lab.expect(&host, ENCRYPTION, "success");
}
