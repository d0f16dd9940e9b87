//! A wire for machines: a bridge in a network namespace of its own, with the services
//! that a machine room has. Nothing of it can be seen from outside, and it goes away with its owner.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context, Result};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::{
    evidence::Evidence,
    machine::Machine,
    program::{Background, command, eventually, run},
    tagger::Tagger,
};

const BRIDGE: &str = "wire";
/// Our side of the wire if it is in a VLAN.
const SEAT: &str = "seat";

/// What a wire offers.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Hand out addresses.
    pub dhcp: bool,
    /// Give machines a default route; without it they reach nothing of IPv4 but the wire itself.
    pub gateway: bool,
    /// What a machine that boots from it is given to start, served by TFTP.
    pub boot_file: Option<PathBuf>,
    /// The address that an iPXE is given to go on with.
    pub ipxe_script: Option<String>,
    /// Names and their addresses, as in `api.lab.example.com`.
    pub names: Vec<(String, IpAddr)>,
    /// The domain machines are given.
    pub domain: String,
    /// Addresses that are not handed out.
    pub reserved: Vec<IpAddr>,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            dhcp: true,
            gateway: true,
            boot_file: None,
            ipxe_script: None,
            names: Vec::new(),
            domain: "lab.example.com".to_owned(),
            reserved: Vec::new(),
        }
    }
}

/// Our side of a wire.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The addresses where all services are, one of an IP family.
    pub ours: Vec<IpNet>,
    /// More addresses at which machines expect a server.
    pub others: Vec<IpAddr>,
    /// The VLAN these are in, if the machines are in one.
    pub vlan: Option<u16>,
    /// The largest packet that fits through the wire, if it is not the usual one.
    pub mtu: Option<u64>,
}

impl Seat {
    /// The interface on our side.
    fn device(&self) -> &'static str {
        match self.vlan {
            Some(_) => SEAT,
            None => BRIDGE,
        }
    }
}

/// The wire.
#[derive(Debug)]
pub struct Network {
    /// The namespace it is in, if not in that of this process.
    namespace: Option<String>,
    seat: Seat,
    evidence: Evidence,
    services: Vec<Background>,
    tagger: Option<Tagger>,
    taps: AtomicU32,
}

impl Network {
    /// The address of our side of a [new](Self::new) wire, where all services are.
    pub const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 77, 1);

    /// An address of our side that is not on the wire; see [`Self::add_outside`].
    pub const OUTSIDE: Ipv4Addr = Ipv4Addr::new(192, 168, 99, 1);

    /// The address a machine with this number gets there.
    #[must_use]
    pub fn address(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(192, 168, 77, number)
    }

    /// Makes a wire with nothing on it, in a namespace of its own.
    ///
    /// # Errors
    /// When this user may not make network namespaces.
    pub fn new(evidence: &Evidence) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        sweep()?;
        let namespace = format!("muster-{}-{number}", std::process::id());
        run(command("ip").args(["netns", "add", &namespace]))
            .context("this needs the right to make network namespaces; run it as root")?;
        let seat = Seat {
            ours: vec![Ipv4Net::new(Self::GATEWAY, 24)?.into()],
            others: Vec::new(),
            vlan: None,
            mtu: None,
        };
        Self::lay(Some(namespace), seat, evidence)
    }

    /// Makes a wire in the namespace of this process, which must be one of its own.
    ///
    /// # Errors
    /// When this process may not change its network.
    pub fn here(seat: &Seat, evidence: &Evidence) -> Result<Self> {
        Self::lay(None, seat.clone(), evidence)
    }

    fn lay(namespace: Option<String>, seat: Seat, evidence: &Evidence) -> Result<Self> {
        let mut network = Self {
            namespace,
            seat,
            evidence: evidence.clone(),
            services: Vec::new(),
            tagger: None,
            taps: AtomicU32::new(0),
        };
        network.ip("link set lo up")?;
        network.ip(&format!(
            "link add {BRIDGE} type bridge forward_delay 0 stp_state 0"
        ))?;
        network.bring_up(BRIDGE)?;
        if let Some(id) = network.seat.vlan {
            network.ip(&format!("tuntap add dev {SEAT} mode tap"))?;
            network.bring_up(SEAT)?;
            let (port, qemu) = (network.plug()?, network.command("qemu-system-x86_64"));
            let log = evidence.file("vlan.log");
            network.tagger = Some(Tagger::between(SEAT, &port, id, qemu, &log)?);
        }
        let Seat { ours, others, .. } = &network.seat;
        let alone = |other: &IpAddr| IpNet::from(*other);
        for address in ours.iter().copied().chain(others.iter().map(alone)) {
            network.take(address)?;
        }
        Ok(network)
    }

    /// Our side has one more address from now on, as the virtual address of a cluster that was free before.
    ///
    /// # Errors
    /// It is taken.
    pub fn answer_at(&self, address: IpAddr) -> Result<()> {
        self.take(IpNet::from(address))
    }

    /// Our side has this address from now on.
    fn take(&self, address: IpNet) -> Result<()> {
        // It is ours alone, and it is needed at once.
        let unasked = if address.addr().is_ipv6() {
            " nodad"
        } else {
            ""
        };
        let device = self.seat.device();
        self.ip(&format!("address add {address} dev {device}{unasked}"))
    }

    fn ip(&self, line: &str) -> Result<()> {
        run(self.command("ip").args(line.split(' '))).map(drop)
    }

    fn bring_up(&self, device: &str) -> Result<()> {
        if let Some(mtu) = self.seat.mtu {
            self.ip(&format!("link set {device} mtu {mtu}"))?;
        }
        self.ip(&format!("link set {device} up"))
    }

    /// A command that runs on the wire.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        // It ends with us, also if we are killed.
        let guarded = ["setpriv", "--pdeathsig", "KILL", program];
        match &self.namespace {
            Some(namespace) => {
                let mut inside = command("ip");
                inside.args(["netns", "exec", namespace]).args(guarded);
                inside
            }
            None => {
                let mut here = command(guarded[0]);
                here.args(&guarded[1..]);
                here
            }
        }
    }

    /// Starts DHCP (if asked for), DNS, TFTP and NTP; `known` machines get the address they say.
    ///
    /// # Errors
    /// When a server does not start.
    pub fn serve(&mut self, offer: &Offer, known: &[&Machine]) -> Result<()> {
        let log = self.evidence.file("dnsmasq.log");
        let mut dnsmasq = self.command("dnsmasq");
        dnsmasq.args([
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--user=root",
            "--no-resolv",
            "--no-hosts",
            "--no-daemon",
            "--bind-interfaces",
            "--log-dhcp",
            "--log-queries",
        ]);
        dnsmasq.arg(format!("--domain={}", offer.domain));
        dnsmasq.arg(format!("--interface={}", self.seat.device()));
        dnsmasq.arg(format!(
            "--dhcp-leasefile={}",
            self.evidence.file("leases").display()
        ));
        for (name, address) in &offer.names {
            dnsmasq.arg(format!("--address=/{name}/{address}"));
        }
        if offer.dhcp {
            for ours in &self.seat.ours {
                match ours {
                    IpNet::V4(ours) => dnsmasq.args(dhcp(*ours, offer.gateway)),
                    IpNet::V6(ours) => dnsmasq.args(dhcp_v6(*ours)),
                };
            }
            let written = |address: &IpAddr| match address {
                IpAddr::V4(address) => format!(",{address}"),
                IpAddr::V6(address) => format!(",[{address}]"),
            };
            for machine in known {
                let (mac, name) = (machine.mac(), &machine.name);
                let addresses: String = machine.addresses.iter().map(written).collect();
                dnsmasq.arg(format!("--dhcp-host={mac},{name}{addresses}"));
            }
            for (number, address) in offer.reserved.iter().enumerate() {
                // For a card that does not exist.
                let [.., high, low] = number.to_be_bytes();
                let address = written(address);
                dnsmasq.arg(format!(
                    "--dhcp-host=02:00:00:00:{high:02x}:{low:02x}{address}"
                ));
            }
        }
        if let Some(file) = &offer.boot_file {
            let folder = file.parent().context("the boot file has a folder")?;
            let name = file
                .file_name()
                .context("the boot file has a name")?
                .to_string_lossy();
            dnsmasq.arg("--enable-tftp");
            dnsmasq.arg(format!("--tftp-root={}", folder.display()));
            dnsmasq.arg(format!("--dhcp-boot=tag:!ipxe,{name}"));
        }
        if let Some(script) = &offer.ipxe_script {
            dnsmasq.arg("--dhcp-match=set:ipxe,175");
            dnsmasq.arg(format!("--dhcp-boot=tag:ipxe,{script}"));
        }
        self.services
            .push(Background::start("dnsmasq", &mut dnsmasq, &log)?);

        let config = self.evidence.file("chronyd.conf");
        let text = format!(
            "local stratum 3\nallow all\ncmdport 0\nbindcmdaddress /\npidfile {}\n",
            self.evidence.file("chronyd.pid").display()
        );
        fs::write(&config, text)?;
        let log = self.evidence.file("chronyd.log");
        let mut chronyd = self.command("chronyd");
        chronyd.args(["-d", "-x", "-u", "root", "-f"]).arg(&config);
        self.services
            .push(Background::start("chronyd", &mut chronyd, &log)?);
        self.settled()
    }

    /// Puts a second address on our side that is not on the wire: reachable only through a proxy.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn add_outside(&self) -> Result<()> {
        self.ip("link add outside type bridge")?;
        self.ip(&format!("address add {}/24 dev outside", Self::OUTSIDE))?;
        self.ip("link set outside up")
    }

    /// Starts an HTTP proxy on our side; returns its URL.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_proxy(&mut self) -> Result<String> {
        let (config, log) = (
            self.evidence.file("proxy.conf"),
            self.evidence.file("proxy.log"),
        );
        let text = format!(
            "Port 3128\nListen {}\nTimeout 600\nMaxClients 50\nLogLevel Connect\nUser root\n",
            Self::GATEWAY
        );
        fs::write(&config, text)?;
        let mut proxy = self.command("tinyproxy");
        proxy.args(["-d", "-c"]).arg(&config);
        let mut proxy = Background::start("tinyproxy", &mut proxy, &log)?;
        eventually(Duration::from_secs(20), "the proxy", || {
            proxy.must_live(&log)?;
            Ok((fs::metadata(&log)?.len() > 0).then_some(()))
        })?;
        self.services.push(proxy);
        Ok(format!("http://{}:3128", Self::GATEWAY))
    }

    /// What went through the proxy so far.
    #[must_use]
    pub fn proxy_log(&self) -> String {
        fs::read_to_string(self.evidence.file("proxy.log")).unwrap_or_default()
    }

    /// Waits until DNS answers, so that no machine comes too early.
    fn settled(&mut self) -> Result<()> {
        let logs = [
            self.evidence.file("dnsmasq.log"),
            self.evidence.file("chronyd.log"),
        ];
        for (service, log) in self.services.iter_mut().zip(&logs) {
            eventually(Duration::from_secs(20), "the network's services", || {
                service.must_live(log)?;
                Ok((fs::metadata(log)?.len() > 0).then_some(()))
            })?;
        }
        Ok(())
    }

    /// A new socket on the wire; returns the name of its interface on our side.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn plug(&self) -> Result<String> {
        let tap = format!("tap{}", self.taps.fetch_add(1, Ordering::Relaxed));
        self.ip(&format!("tuntap add dev {tap} mode tap"))?;
        self.bring_up(&tap)?;
        self.ip(&format!("link set {tap} master {BRIDGE}"))?;
        Ok(tap)
    }

    /// What DHCP, DNS and TFTP have logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.evidence.file("dnsmasq.log")).unwrap_or_default()
    }
}

/// Settings of dnsmasq so that it hands out IPv4 addresses.
fn dhcp(ours: Ipv4Net, with_gateway: bool) -> [String; 3] {
    let (gateway, network, mask) = (ours.addr(), ours.network(), ours.netmask());
    // Machines that are not known get an address of these, where the wire has room for them.
    let pool = if ours.prefix_len() > 24 {
        format!("{network},static")
    } else {
        let [first, last] = [100, 199].map(|step| Ipv4Addr::from(u32::from(network) + step));
        format!("{first},{last}")
    };
    let router = if with_gateway {
        format!("--dhcp-option=option:router,{gateway}")
    } else {
        // An empty option takes back what is sent by default.
        "--dhcp-option=option:router".to_owned()
    };
    [
        format!("--dhcp-range={pool},{mask},1h"),
        router,
        format!("--dhcp-option=option:ntp-server,{gateway}"),
    ]
}

/// The same for IPv6. The default route comes by router advertisements.
fn dhcp_v6(ours: Ipv6Net) -> [String; 2] {
    let (network, length) = (ours.network(), ours.prefix_len());
    let pool = if length > 112 {
        format!("{network},static")
    } else {
        let [first, last] = [0x1000, 0x1fff].map(|step| Ipv6Addr::from(u128::from(network) + step));
        format!("{first},{last}")
    };
    [
        "--enable-ra".to_owned(),
        format!("--dhcp-range={pool},{length},1h"),
    ]
}

/// Removes what tests that were ended in the middle have left.
fn sweep() -> Result<()> {
    for line in run(command("ip").args(["netns", "list"]))?.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        let owner = name
            .strip_prefix("muster-")
            .and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| !PathBuf::from("/proc").join(pid).exists()) {
            // Another story may sweep at the same time; a namespace that stays does no harm.
            let _ = run(command("ip").args(["netns", "delete", name]));
        }
    }
    Ok(())
}

impl Drop for Network {
    fn drop(&mut self) {
        self.services.clear();
        self.tagger = None;
        if let Some(namespace) = &self.namespace {
            // Nothing can be done about a namespace that stays.
            let _ = run(command("ip").args(["netns", "delete", namespace]));
        }
    }
}
