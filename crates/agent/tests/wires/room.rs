//! A machine room: switches and servers in the network namespace of the story, and machines in
//! namespaces of their own. All of it goes away with the processes that are in it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use nix::sched::{CloneFlags, unshare};
use tempfile::TempDir;

use crate::program::{Background, command, ip, run};

/// Where the story itself stands: here are the switches and the servers.
#[derive(Debug)]
pub struct Room {
    folder: TempDir,
}

impl Room {
    /// Puts the thread of the story into a network of its own. Programs it starts and threads
    /// it spawns are in there, too.
    pub fn enter() -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("these stories need root, for namespaces");
        ip("link set lo up");
        Self {
            folder: tempfile::tempdir().expect("a folder for the story"),
        }
    }

    /// A file of the story.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file with this text.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, text).expect("a file of the story");
        path
    }

    /// A switch, with an address of ours on it if one is given.
    pub fn switch(&self, name: &str, address: Option<&str>) {
        ip(&format!(
            "link add {name} type bridge forward_delay 0 stp_state 0"
        ));
        if let Some(address) = address {
            ip(&format!("address add {address} dev {name}"));
        }
        ip(&format!("link set {name} up"));
    }

    /// A server in the room.
    pub fn server(&self, program: &str, args: &[&str]) -> Background {
        let name = Path::new(program).file_name().unwrap_or_default();
        let log = self.file(&format!("{}.log", name.display()));
        Background::start(&[], Path::new(program), args, log)
    }
}

/// A machine: network, name and mounts of its own.
#[derive(Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    keeper: Background,
}

impl Machine {
    /// A machine without cables.
    pub fn new(room: &Room, name: &str) -> Self {
        let log = room.file(&format!("{name}.log"));
        let own = ["--mount", "--uts", "--net", "sleep", "infinity"];
        let mut keeper = Background::start(&[], Path::new("unshare"), &own, log);
        let net = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let ours = net("thread-self");
        let pid = keeper.pid().to_string();
        let apart = |pid: &str| {
            let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            program.ends_with("sleep") && net(pid) != ours
        };
        while !apart(&pid) {
            keeper.must_live();
            std::thread::sleep(Duration::from_millis(5));
        }
        let machine = Self {
            name: name.to_owned(),
            keeper,
        };
        machine.shell("hostname \"$1\" && ip link set lo up", &[name]);
        machine
    }

    /// Words that lead into it.
    fn entry_command(&self) -> Vec<String> {
        let pid = self.keeper.pid().to_string();
        ["nsenter", "--target", &pid, "--mount", "--uts", "--net"]
            .map(str::to_owned)
            .to_vec()
    }

    /// A command that runs on it.
    pub fn command(&self, program: &str) -> Command {
        let entry_command = self.entry_command();
        let mut inside = command(&entry_command[0]);
        inside.args(&entry_command[1..]).arg(program);
        inside
    }

    /// A script that runs on it; `args` are `$1` and so on.
    pub fn shell(&self, script: &str, args: &[&str]) -> String {
        let mut shell = self.command("sh");
        run(shell.args(["-ec", script, "sh"]).args(args))
    }

    /// Runs `ip` on it.
    pub fn ip(&self, words: &str) {
        run(self.command("ip").args(words.split(' ')));
    }

    /// A program in its background.
    pub fn server(&self, room: &Room, program: &str, args: &[&str]) -> Background {
        let name = Path::new(program).file_name().unwrap_or_default();
        let log = room.file(&format!("{}-{}.log", self.name, name.display()));
        Background::start(&self.entry_command(), Path::new(program), args, log)
    }

    /// Puts in a card with a cable; the name of the other end, which is in the room.
    pub fn cable(&self, card: &str) -> String {
        let end = format!("{}-{card}", self.name);
        let pid = self.keeper.pid();
        ip(&format!(
            "link add {end} type veth peer name {card} netns {pid}"
        ));
        ip(&format!("link set {end} up"));
        self.ip(&format!("link set {card} up"));
        end
    }

    /// The same, with the other end in a switch.
    pub fn plug(&self, card: &str, switch: &str) -> String {
        let end = self.cable(card);
        ip(&format!("link set {end} master {switch}"));
        end
    }

    /// Gives a card an address.
    pub fn address(&self, card: &str, address: &str) {
        self.ip(&format!("address add {address} dev {card}"));
    }

    /// Makes it look like a machine to those who look at its files: its cards are cards (the
    /// kernel files the ends of such cables under virtual devices, which agents pass over), its
    /// servers keep their sockets to themselves, and it has a name server.
    pub fn furnish(&self, room: &Room, cards: &[&str], name_server: &str) {
        let text = format!("nameserver {name_server}\noptions timeout:1 attempts:1\n");
        let resolv = room.write(&format!("{}-resolv.conf", self.name), &text);
        let script = "resolv=$1; shift
            mount -t tmpfs run /run; mkdir /run/chrony; chmod 700 /run/chrony
            mount --bind \"$resolv\" /etc/resolv.conf
            cd /sys/class/net; mount -t tmpfs cards .; cd /sys/class/net
            mkdir kernel; mount -t sysfs kernel kernel
            ln -s kernel/devices/virtual/net/lo lo
            for card; do mkdir $card; mount --bind kernel/devices/virtual/net/$card $card; done";
        let resolv = resolv.display().to_string();
        self.shell(script, &[&[resolv.as_str()], cards].concat());
    }
}
