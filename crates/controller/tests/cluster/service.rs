//! A service on loopback: it keeps one cluster, has the order of stages and the statuses of the
//! real one, and remembers every report.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

use muster_model::{HostRole, HostStage};
use serde_json::{Value, json};
use uuid::Uuid;

pub const CLUSTER: Uuid = Uuid::from_u128(0xc);
const INFRA_ENV: Uuid = Uuid::from_u128(0xe);

#[derive(Default)]
pub struct State {
    pub cluster: Value,
    pub operators: Vec<Value>,
    pub manifests: String,
    /// Calls that changed something, as `METHOD path`, in order.
    pub calls: Vec<String>,
    pub events: Vec<Value>,
    pub ingress_ca: Option<String>,
    pub completed: Option<Value>,
    /// Bodies of uploads of logs.
    pub logs: Vec<Vec<u8>>,
    pub kubeconfig: String,
    /// Nothing is answered but 503.
    pub away: bool,
    pub log_states: Vec<String>,
    pub finalizing: Vec<String>,
    /// Statuses to answer with before anything else is looked at.
    pub refusals: Vec<u16>,
    pub conflicts: usize,
    /// What stood before the path of the last request: nothing, unless a proxy was asked.
    pub asked_as: String,
    /// Gives up these stages of finalizing as soon as they begin.
    pub gives_up: &'static [&'static str],
}

pub struct Service {
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl Service {
    pub fn start(hosts: &[(u8, &str, &str, &str)]) -> Self {
        let hosts: Vec<Value> = hosts
            .iter()
            .map(|(number, name, role, stage)| host(*number, name, role, stage))
            .collect();
        let state = Arc::new(Mutex::new(State {
            cluster: json!({
                "id": CLUSTER, "name": "c", "base_dns_domain": "example.org",
                "status": "installing", "control_plane_count": 3,
                "platform": {"type": "baremetal"}, "progress": {}, "hosts": hosts,
            }),
            ..State::default()
        }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(&shared, stream));
            }
        });
        Self { url, state }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn stage(&self, number: u8) -> String {
        let id = json!(Uuid::from_u128(u128::from(number)));
        let state = self.state();
        let hosts = state.cluster["hosts"].as_array().unwrap();
        let host = hosts.iter().find(|host| host["id"] == id).unwrap();
        host["progress"]["current_stage"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Files of the logs that were uploaded last, with their contents.
    pub fn last_logs(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let body = state.logs.last().unwrap();
        // One part of a form; the archive begins with its magic number.
        let start = body.windows(3).position(|bytes| bytes == [0x1f, 0x8b, 8]);
        let unpacked = flate2::read::GzDecoder::new(&body[start.unwrap()..]);
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(unpacked).entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            files.insert(name, content);
        }
        files
    }

    pub fn operator(&self, name: &str) -> String {
        let state = self.state();
        let operator = state.operators.iter().find(|one| one["name"] == name);
        operator.unwrap()["status"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

fn host(number: u8, name: &str, role: &str, stage: &str) -> Value {
    let inventory = json!({"hostname": "localhost", "interfaces": [{
        "ipv4_addresses": [format!("10.0.0.{number}/24")],
    }]});
    json!({
        "id": Uuid::from_u128(u128::from(number)),
        "infra_env_id": INFRA_ENV,
        "status": "installing-in-progress",
        "role": role,
        "bootstrap": false,
        "requested_hostname": name,
        "progress": {"current_stage": stage},
        "inventory": inventory.to_string(),
        "node_labels": match role { "worker" => json!({"zone": "1"}).to_string(), _ => String::new() },
        "machine_config_pool_name": match role { "worker" => "infra", _ => "" },
    })
}

fn serve(shared: &Mutex<State>, stream: TcpStream) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first).unwrap();
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    // A request that came through a proxy names the whole address.
    let (way, path) = path.split_once("/api/assisted-install/v2/").unwrap();
    let (status, answer) = {
        let mut state = shared.lock().unwrap();
        state.asked_as = way.to_owned();
        state.answer(method, path, &body)
    };
    let head = format!(
        "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    let _ = reader
        .get_mut()
        .write_all(format!("{head}{answer}").as_bytes());
}

impl State {
    fn answer(&mut self, method: &str, path: &str, body: &[u8]) -> (u16, String) {
        if self.away {
            return (503, "{}".to_owned());
        }
        if let Some(status) = self.refusals.pop() {
            return (status, "{}".to_owned());
        }
        if method != "GET" {
            self.calls.push(format!("{method} {path}"));
        }
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let cluster = format!("clusters/{CLUSTER}");
        let rest = path.strip_prefix(&cluster).unwrap_or(path);
        let finalizing = self.cluster["status"] == "finalizing";
        let status = match (method, rest) {
            ("GET", "") => return (200, self.cluster.to_string()),
            ("GET", "/monitored-operators") => return (200, json!(self.operators).to_string()),
            ("GET", "/downloads/files?file_name=custom_manifests.json") => {
                return (200, self.manifests.clone());
            }
            ("GET", "/downloads/credentials?file_name=kubeconfig-noingress")
                if !self.kubeconfig.is_empty() =>
            {
                return (200, self.kubeconfig.clone());
            }
            ("PUT", "/monitored-operators") => self.operator(&value),
            ("PUT", "/progress") if finalizing => {
                let stage = value["finalizing_stage"].clone();
                let name = stage.as_str().unwrap();
                self.finalizing.push(name.to_owned());
                self.cluster["progress"]["finalizing_stage_timed_out"] =
                    json!(self.gives_up.contains(&name));
                self.cluster["progress"]["finalizing_stage"] = stage;
                200
            }
            ("PUT", "/progress") => 409,
            ("POST", "/uploads/ingress-cert") if finalizing => {
                self.ingress_ca = Some(value.as_str().unwrap().to_owned());
                201
            }
            ("POST", "/uploads/ingress-cert") => 400,
            ("POST", "/actions/complete-installation") => {
                self.completed = Some(value);
                202
            }
            ("POST", "/logs?logs_type=controller") => {
                self.logs.push(body.to_vec());
                204
            }
            ("PUT", "/logs-progress") => {
                let state = value["logs_state"].as_str().unwrap();
                self.log_states.push(state.to_owned());
                204
            }
            ("POST", "events") => {
                self.events.push(value);
                201
            }
            ("PUT", path) if path.ends_with("/progress") => self.stage(path, &value),
            _ => 404,
        };
        self.settle();
        (status, "{}".to_owned())
    }

    fn operator(&mut self, report: &Value) -> u16 {
        let operator = self.operators.iter_mut();
        let Some(operator) = operator
            .into_iter()
            .find(|one| one["name"] == report["name"])
        else {
            return 404;
        };
        for field in ["status", "status_info", "version"] {
            operator[field] = report[field].clone();
        }
        200
    }

    fn stage(&mut self, path: &str, report: &Value) -> u16 {
        let id = path.split('/').nth(3).unwrap();
        let hosts = self.cluster["hosts"].as_array_mut().unwrap();
        let host = hosts.iter_mut().find(|host| host["id"] == id).unwrap();
        let role: HostRole = host["role"].as_str().unwrap().parse().unwrap();
        let stages = HostStage::expected(role, host["bootstrap"] == true, false, false);
        let place = |value: &Value| {
            let stage = value.as_str().unwrap().parse::<HostStage>().unwrap();
            stages.iter().position(|one| *one == stage)
        };
        let (from, to) = (&host["progress"]["current_stage"], &report["current_stage"]);
        if place(to) < place(from) {
            self.conflicts += 1;
            return 409;
        }
        if to == "Done" {
            host["status"] = json!("installed");
        }
        host["progress"]["current_stage"] = to.clone();
        200
    }

    /// As the real service: it decides itself when all is done.
    fn settle(&mut self) {
        let hosts = self.cluster["hosts"].as_array().unwrap();
        let installed = hosts.iter().all(|host| host["status"] == "installed");
        if self.cluster["status"] == "installing" && installed {
            self.cluster["status"] = json!("finalizing");
        }
        let mut operators = self.operators.iter();
        let settled =
            operators.all(|one| one["status"] == "available" || one["status"] == "failed");
        let done = self.finalizing.last().is_some_and(|stage| stage == "Done");
        if self.cluster["status"] == "finalizing" && settled && done && self.ingress_ca.is_some() {
            self.cluster["status"] = json!("installed");
        }
    }
}
