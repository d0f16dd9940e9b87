"""Machines that exist only as the messages they send.

A `Machine` speaks the agent's side of the protocol: it registers, polls and answers the
steps it is given, as a healthy bare-metal host would. A `Fleet` is a cluster, its infra-env
and its machines; `drive_until` lets them talk until the cluster has the wanted status.
Defaults describe a good host; a test breaks what it wants to see broken.
"""

import copy
import datetime
import json
import time
import uuid

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from muster import SSH_KEY, eventually

GIB = 1024**3
NETWORK = "192.168.126.0/24"
API_VIP = "192.168.126.100"
INGRESS_VIP = "192.168.126.101"


def inventory(name="master-0", ip="192.168.126.10", mac="52:54:00:00:00:0a"):
    """What an agent reports about a roomy bare-metal machine with one disk and one NIC."""
    return {
        "bmc_address": "0.0.0.0",
        "bmc_v6address": "::/0",
        "boot": {"command_line": "quiet\n", "current_boot_mode": "uefi", "secure_boot_state": "Disabled"},
        "cpu": {"architecture": "x86_64", "count": 16, "flags": ["fpu", "vmx"], "model_name": "AMD EPYC"},
        "disks": [
            {
                "by_id": "/dev/disk/by-id/wwn-0x5000c500a0b1c2d3",
                "by_path": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
                "drive_type": "SSD",
                "hctl": "0:0:0:0",
                "id": "/dev/disk/by-id/wwn-0x5000c500a0b1c2d3",
                "installation_eligibility": {"eligible": True, "not_eligible_reasons": None},
                "model": "ACME_DISK",
                "name": "sda",
                "path": "/dev/sda",
                "serial": "0x5000c500a0b1c2d3",
                "size_bytes": 256 * GIB,
                "vendor": "ATA",
                "wwn": "0x5000c500a0b1c2d3",
            }
        ],
        "gpus": [],
        "hostname": name,
        "interfaces": [
            {
                "flags": ["up", "broadcast", "multicast", "running"],
                "has_carrier": True,
                "ipv4_addresses": [f"{ip}/24"],
                "ipv6_addresses": [],
                "mac_address": mac,
                "mtu": 1500,
                "name": "eth0",
                "product": "0x1572",
                "speed_mbps": 10000,
                "type": "physical",
                "vendor": "0x8086",
            }
        ],
        "memory": {"physical_bytes": 64 * GIB, "physical_bytes_method": "dmidecode", "usable_bytes": 63 * GIB},
        "routes": [
            {"destination": "0.0.0.0", "family": 2, "gateway": "192.168.126.1", "interface": "eth0", "metric": 100},
            {"destination": "192.168.126.0", "family": 2, "interface": "eth0"},
        ],
        "system_vendor": {"manufacturer": "ACME", "product_name": "Rack 1", "serial_number": "A1", "virtual": False},
        "tpm_version": "2.0",
    }


class Machine:
    """One host of one infra-env, played by the test."""

    def __init__(self, api, infra_env_id, index=0, name=None, host_id=None):
        self.api = api
        self.infra_env_id = infra_env_id
        self.id = host_id or str(uuid.uuid4())
        self.name = name or f"machine-{index}"
        self.ip = f"192.168.126.{10 + index}"
        self.mac = f"52:54:00:00:00:{0x0A + index:02x}"
        self.inventory = inventory(self.name, self.ip, self.mac)
        self.agent = "quay.io/steel/agent:latest"

    @property
    def path(self):
        return f"/v2/infra-envs/{self.infra_env_id}/hosts/{self.id}"

    def register(self, expect=201):
        body = {"host_id": self.id, "discovery_agent_version": self.agent}
        headers = {"discovery_agent_version": self.agent}
        return self.api.post(f"/v2/infra-envs/{self.infra_env_id}/hosts", body, expect, headers=headers)

    def state(self):
        return self.api.get(self.path).json()

    def wait_for(self, *statuses):
        """Returns the host once it has one of the statuses."""

        def arrived():
            host = self.state()
            return host if host["status"] in statuses else None

        return eventually(arrived, f"{self.name} to be {' or '.join(statuses)}")

    def poll(self):
        """Checks in and returns the answer with the steps to run."""
        query = {"timestamp": int(time.time())}
        headers = {"discovery_agent_version": self.agent}
        return self.api.get(f"{self.path}/instructions", params=query, headers=headers).json()

    def reply(self, step_type, output, exit_code=0, error="", step_id=None, expect=204):
        body = {"step_type": step_type, "step_id": step_id or f"{step_type}-0badcafe"}
        body["output"] = output if isinstance(output, str) else json.dumps(output)
        if exit_code:
            body["exit_code"] = exit_code
        if error:
            body["error"] = error
        return self.api.post(f"{self.path}/instructions", body, expect)

    def send_inventory(self, expect=204):
        return self.reply("inventory", self.inventory, expect=expect)

    def work(self, cluster=None, expect=204):
        """One poll and an answer to every step; returns the step types seen."""
        answer = self.poll()
        seen = []
        for step in answer.get("instructions") or []:
            seen.append(step["step_type"])
            output = self._answer(step, cluster or {})
            if output is not None:
                self.reply(step["step_type"], output, step_id=step.get("step_id"), expect=expect)
        if answer.get("post_step_action") == "exit":
            self.register()
        return seen

    def _answer(self, step, cluster):
        kind, args = step["step_type"], step.get("args") or []
        answers = {
            "inventory": lambda: self.inventory,
            "connectivity-check": lambda: connectivity(self, json.loads(args[0])),
            "free-network-addresses": lambda: free_addresses(json.loads(args[0])),
            "ntp-synchronizer": lambda: {
                "ntp_sources": [{"source_name": "clock.example.com", "source_state": "synced"}]
            },
            "domain-resolution": lambda: resolutions(json.loads(args[0]), self.ip),
            "verify-vips": lambda: [{**vip, "verification": "succeeded"} for vip in json.loads(args[0])],
            "installation-disk-speed-check": lambda: {
                "io_sync_duration": 3,
                "path": json.loads(args[0])["path"],
            },
            "container-image-availability": lambda: {
                "images": [
                    {"name": name, "result": "success", "size_bytes": 4.1e8, "time": 12.3, "download_rate": 33.4}
                    for name in json.loads(args[0])["images"]
                ]
            },
            "api-vip-connectivity-check": lambda: {
                "is_success": True,
                "url": json.loads(args[0])["url"],
                "ignition": json.dumps({"ignition": {"version": "3.2.0"}}),
            },
            "tang-connectivity-check": lambda: {"is_success": True, "tang_server_response": []},
            "upgrade-agent": lambda: {"agent_image": json.loads(args[0])["agent_image"], "result": "success"},
            "logs-gather": lambda: "",
            "stop-installation": lambda: "",
        }
        make = answers.get(kind)
        # The install step is answered by the machine itself, stage by stage: see Fleet.install.
        return make() if make else None

    def progress(self, stage, info="", expect=200):
        body = {"current_stage": stage, "progress_info": info}
        return self.api.put(f"{self.path}/progress", body, expect)


def connectivity(machine, remotes):
    """Every peer answers on both layers."""
    hosts = []
    for remote in remotes:
        l2, l3 = [], []
        for nic in remote["nics"]:
            for ip in nic["ip_addresses"]:
                l2.append(
                    {
                        "outgoing_ip_address": machine.ip,
                        "outgoing_nic": "eth0",
                        "remote_ip_address": ip,
                        "remote_mac": nic["mac"],
                        "successful": True,
                    }
                )
                l3.append({"average_rtt_ms": 0.3, "remote_ip_address": ip, "successful": True})
        hosts.append({"host_id": remote["host_id"], "l2_connectivity": l2, "l3_connectivity": l3, "mtu_report": None})
    return {"remote_hosts": hosts}


def free_addresses(networks):
    """All addresses of the /24 above the machines are free."""
    return [
        {"network": network, "free_addresses": [f"{network.rsplit('.', 1)[0]}.{last}" for last in range(50, 255)]}
        for network in networks
    ]


def resolutions(request, own_ip):
    """Cluster names resolve, names that only a wildcard would know do not."""
    found = []
    for domain in request["domains"]:
        name = domain["domain_name"]
        known = "validateNoWildcardDNS" not in name
        address = INGRESS_VIP if ".apps." in name else API_VIP
        found.append(
            {
                "domain_name": name,
                "ipv4_addresses": [address] if known else [],
                "ipv6_addresses": [],
                "cnames": [f"{name}."] if known else None,
            }
        )
    return {"resolutions": found}


BOOTSTRAP_STAGES = [
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Waiting for control plane",
    "Waiting for bootkube",
    "Waiting for controller",
    "Rebooting",
    "Configuring",
    "Joined",
    "Done",
]
MASTER_STAGES = [
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Rebooting",
    "Configuring",
    "Joined",
    "Done",
]


class Fleet:
    """A cluster, its infra-env and its machines, and helpers that wait for their statuses."""

    def __init__(self, api, cluster, infra_env, machines):
        self.api = api
        self.cluster_id = cluster["id"]
        self.infra_env_id = infra_env["id"]
        self.machines = machines

    @classmethod
    def compact(cls, api, name, size=3, **fields):
        """Three machines that are control plane and workers at once."""
        cluster = api.new_cluster(name, ssh_public_key=SSH_KEY, **fields)
        infra_env = api.new_infra_env(f"{name}-env", cluster_id=cluster["id"])
        machines = [Machine(api, infra_env["id"], index, f"{name}-{index}") for index in range(size)]
        for machine in machines:
            machine.register()
            machine.send_inventory()
        vips = {"api_vips": [{"ip": API_VIP}], "ingress_vips": [{"ip": INGRESS_VIP}]}
        api.patch(f"/v2/clusters/{cluster['id']}", vips)
        return cls(api, cluster, infra_env, machines)

    @property
    def path(self):
        return f"/v2/clusters/{self.cluster_id}"

    def state(self):
        return self.api.cluster(self.cluster_id)

    def step(self):
        """Every machine polls once and answers what it was asked."""
        cluster = self.state()
        for machine in self.machines:
            machine.work(cluster)

    def drive_until(self, status, timeout=30.0):
        """Lets the machines talk until the cluster has the status; says why not if it does not come."""

        def arrived():
            self.step()
            return self.state()["status"] == status

        try:
            eventually(arrived, f"cluster {status}", timeout)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.explain()}") from None

    def explain(self):
        """What keeps the cluster where it is, for the message of a failed test."""
        cluster = self.state()
        lines = [f"cluster is {cluster['status']}: {cluster['status_info']}", *failing(cluster)]
        for machine in self.machines:
            host = machine.state()
            lines += [f"host {machine.name} is {host['status']}: {host['status_info']}", *failing(host)]
        return "\n".join(lines)

    def install(self):
        """From ready to all machines done; the cluster is finalizing afterwards."""
        self.api.post(f"{self.path}/actions/install", expect=202)
        self.drive_until("installing")
        self.finish_installation()

    def finish_installation(self):
        """From installing to all machines done."""
        for machine in self.machines:
            machine.wait_for("installing", "installing-in-progress")
            machine.work()
        hosts = [(machine, machine.state()) for machine in self.machines]
        # The bootstrap machine goes last: it becomes a node only after the others run the control plane.
        for machine, host in sorted(hosts, key=lambda pair: pair[1].get("bootstrap", False)):
            stages = BOOTSTRAP_STAGES if host.get("bootstrap") else MASTER_STAGES
            for stage in stages:
                machine.progress(stage)
        eventually(lambda: self.state()["status"] == "finalizing", "cluster finalizing")

    def finalize(self):
        """What the controller inside the new cluster reports, up to installed."""
        self.api.put(f"{self.path}/progress", {"finalizing_stage": "Waiting for cluster operators"})
        self.api.post(f"{self.path}/uploads/ingress-cert", ingress_certificate(), expect=201)
        for operator in self.api.get(f"{self.path}/monitored-operators").json():
            body = {"name": operator["name"], "status": "available", "status_info": "fine", "version": "1.0"}
            self.api.put(f"{self.path}/monitored-operators", body)
        # The service needs no more than that and may have finished already; then it takes no stage.
        last = self.api.put(f"{self.path}/progress", {"finalizing_stage": "Done"}, expect=(200, 400))
        assert last.ok or "is installed" in last.text, last.text
        eventually(lambda: self.state()["status"] == "installed", "cluster installed")

    def disband(self):
        """Removes what the fleet made, as far as its state allows."""
        self.api.call("DELETE", self.path)
        for machine in self.machines:
            self.api.call("DELETE", machine.path)
        self.api.call("DELETE", f"/v2/infra-envs/{self.infra_env_id}")


def ingress_certificate():
    """A fresh self-signed CA certificate as PEM text."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ingress-operator")])
    start = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=start,
        not_valid_after=start + datetime.timedelta(days=30),
    ).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def failing(thing):
    """The validations of a cluster or host that are not content."""
    report = json.loads(thing.get("validations_info") or "{}")
    return [
        f"  {check['id']}: {check['status']}: {check['message']}"
        for checks in report.values()
        for check in checks
        if check["status"] not in ("success", "disabled")
    ]


def without(document, *path):
    """A copy of the document without the member at the path."""
    clone = copy.deepcopy(document)
    target = clone
    for part in path[:-1]:
        target = target[part]
    target.pop(path[-1])
    return clone
