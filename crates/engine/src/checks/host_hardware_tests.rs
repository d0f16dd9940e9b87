//! Every result of the hardware validations.

use muster_model::{HostRole, HostStage, PlatformType};

use super::{
    super::{
        host::Gate,
        testbed::{Bed, inventory},
    },
    MIB, name_fault,
};
use crate::inventory::{Inventory, Memory, Truncation};

#[test]
fn an_inventory_is_there_missing_or_broken() {
    Bed::known().expect("has-inventory", "success");
    Bed::discovering().expect_message("has-inventory", "failure", &["not sent"]);
    let broken = Bed::discovering().with(|bed| bed.broken = true);
    broken.expect_message("has-inventory", "failure", &["cannot be read"]);
    assert!(!broken.is_open(Gate::Inventory));
}

#[test]
fn truncated_inventories_are_distinguished_by_how_much_is_left() {
    let cut = |kind: &str| {
        Bed::known().with_inventory(|inventory| {
            inventory.truncation = Some(Truncation {
                reasons: vec!["too many disks".to_owned(), "too large".to_owned()].into(),
                kind: kind.into(),
            });
        })
    };
    let (partial, full) = (
        "inventory-not-partially-truncated",
        "inventory-not-fully-truncated",
    );
    for id in [partial, full] {
        Bed::known().expect(id, "success");
        Bed::discovering().expect(id, "pending");
        cut("odd").expect_message(id, "error", &["odd"]);
    }
    cut("partial").expect_message(
        partial,
        "failure",
        &["too many disks; too large", "partial"],
    );
    cut("partial").expect(full, "success");
    assert!(cut("partial").is_open(Gate::Inventory));
    cut("full").expect(partial, "success");
    cut("full").expect(full, "failure");
    assert!(!cut("full").is_open(Gate::Inventory));
}

fn sized(cores: i64, mib: i64, method: &str) -> Bed {
    Bed::known().with_inventory(|inventory| {
        inventory.cpu.as_mut().unwrap().count = cores;
        inventory.memory = Some(Memory {
            physical_bytes: mib * MIB,
            physical_bytes_method: method.into(),
            usable_bytes: mib * MIB,
        });
    })
}

#[test]
fn cores_are_measured_by_the_humblest_role_and_by_the_own_one() {
    for (cores, least, role) in [
        (1, "failure", "failure"),
        (2, "success", "failure"),
        (4, "success", "success"),
    ] {
        sized(cores, 32768, "").expect("has-min-cpu-cores", least);
        sized(cores, 32768, "").expect("has-cpu-cores-for-role", role);
    }
    sized(3, 32768, "").expect_message("has-cpu-cores-for-role", "failure", &["3", "4", "master"]);
    let single = sized(7, 32768, "").single_node();
    single.expect("has-cpu-cores-for-role", "failure");
    single.expect("has-min-cpu-cores", "success");
    let worker = sized(2, 8192, "").with_host(|host| host.role = HostRole::Worker);
    worker.expect("has-cpu-cores-for-role", "success");
    let nothing = Bed::known().with_inventory(|inventory| inventory.cpu = None);
    nothing.expect("has-min-cpu-cores", "error");
    nothing.expect("has-cpu-cores-for-role", "error");
}

#[test]
fn memory_may_lack_what_firmware_and_kernel_keep() {
    let (least, role) = ("has-min-memory", "has-memory-for-role");
    sized(8, 8092, "").expect(least, "success");
    sized(8, 8091, "").expect_message(least, "failure", &["8091", "8192", "add 101 MiB"]);
    // The kernel's own share is forgiven by 2 %, but not for the role.
    sized(8, 7929, "meminfo").expect(least, "success");
    sized(8, 7928, "meminfo").expect(least, "failure");
    sized(8, 16284, "meminfo").expect(role, "success");
    sized(8, 16283, "meminfo").expect(role, "failure");
    let nothing = Bed::known().with_inventory(|inventory| inventory.memory = None);
    nothing.expect(least, "error");
    nothing.expect(role, "error");
}

#[test]
fn a_name_must_be_the_only_one_of_its_kind_in_the_cluster() {
    let id = "hostname-unique";
    let twin = Bed::known().with(|bed| bed.others[0].inventory = Some(inventory(1)));
    twin.expect_message(id, "failure", &["host-1"]);
    let renamed = twin.with_host(|host| host.requested_hostname = Some("mine".into()));
    renamed.expect(id, "success");
    let clash = renamed.with(|bed| bed.others[1].host.requested_hostname = Some("mine".into()));
    clash.expect(id, "failure");
    let unread = Bed::known().with(|bed| {
        bed.others[0].host.requested_hostname = Some("host-1".into());
        bed.others[0].inventory = None;
        bed.others[0].broken = true;
    });
    unread.expect(id, "success");
    Bed::discovering().expect(id, "pending");
    Bed::known().unbound().expect(id, "absent");
}

#[test]
fn a_name_must_be_one_a_node_may_have() {
    let named =
        |name: &str| Bed::known().with_host(|host| host.requested_hostname = Some(name.into()));
    named("good-1.example.com").expect("hostname-valid", "success");
    named("localhost").expect_message("hostname-valid", "failure", &["localhost"]);
    named("a_b").expect("hostname-valid", "failure");
    Bed::discovering().expect("hostname-valid", "failure");
    named("Bad").unbound().expect("hostname-valid", "failure");
}

#[test]
fn host_names_follow_the_contract() {
    let long = "a".repeat(63);
    for good in ["a", "1abc", "a.b", "a.-b", "localhost.foo", long.as_str()] {
        assert_eq!(name_fault(good), None, "{good}");
    }
    let longer = "a".repeat(64);
    let bad = [
        "a_b",
        "Abc",
        "-a",
        "a..b",
        "a.",
        ".a",
        "",
        "localhost",
        &longer,
    ];
    for bad in bad.into_iter().chain(["localhost6.localdomain6", "ä"]) {
        assert!(name_fault(bad).is_some(), "{bad}");
    }
}

#[test]
fn some_platforms_want_machines_of_their_own() {
    let id = "compatible-with-cluster-platform";
    let on = |kind, name: Option<&str>, maker: &str| {
        Bed::known()
            .with_inventory(|inventory: &mut Inventory| {
                inventory.system_vendor.as_mut().unwrap().manufacturer = maker.into();
            })
            .with_cluster(|cluster| {
                let platform = cluster.platform.as_mut().unwrap();
                platform.kind = kind;
                platform.external_name = name.map(str::to_owned);
            })
    };
    use PlatformType::{Baremetal, External, Nutanix, Vsphere};
    for (kind, name, maker, status) in [
        (Baremetal, None, "Acme", "success"),
        (PlatformType::None, None, "Acme", "success"),
        (External, Some("mine"), "Acme", "success"),
        (External, Some("oci"), "Acme", "failure"),
        (External, Some("oci"), "OracleCloud.com", "success"),
        (Vsphere, None, "Acme", "failure"),
        (Vsphere, None, "VMware, Inc.", "success"),
        (Nutanix, None, "Acme", "failure"),
        (Nutanix, None, "Nutanix", "success"),
    ] {
        on(kind, name, maker).expect(id, status);
    }
    on(Vsphere, None, "Acme").expect_message(id, "failure", &["VMware", "Acme"]);
    assert!(!on(Vsphere, None, "Acme").is_open(Gate::MinimumHardware));
    let unknown = Bed::known().with_inventory(|inventory| inventory.system_vendor = None);
    unknown
        .with_cluster(|cluster| cluster.platform.as_mut().unwrap().kind = Nutanix)
        .expect(id, "failure");
    Bed::known()
        .with_cluster(|cluster| cluster.platform = None)
        .expect(id, "pending");
    Bed::discovering().expect(id, "pending");
    Bed::known().unbound().expect(id, "absent");
}

#[test]
fn an_agent_that_will_not_be_exchanged_holds_nothing_up() {
    let id = "compatible-agent";
    for version in [None, Some("muster-agent 0.1.0")] {
        let bed = Bed::known()
            .with_host(|host| host.discovery_agent_version = version.map(str::to_owned))
            .with(|bed| bed.settings.upgrade_agent_to = Some("agent:2".into()));
        bed.expect(id, "success");
    }
    let upgraded = |result: &str| {
        Bed::known()
            .with_host(|host| {
                host.discovery_agent_version = Some("agent:1".into());
                host.agent_upgrade.image = Some("agent:2".into());
                host.agent_upgrade.result = Some(result.into());
            })
            .with(|bed| bed.settings.upgrade_agent_to = Some("agent:2".into()))
    };
    upgraded("success").expect(id, "success");
    upgraded("failure").expect(id, "failure");
}

#[test]
fn an_agent_of_another_version_is_reported_until_the_installation_begins() {
    let id = "compatible-agent";
    let running = |wanted: Option<&str>| {
        Bed::known()
            .with_host(|host| host.discovery_agent_version = Some("agent:1".into()))
            .with(|bed| bed.settings.upgrade_agent_to = wanted.map(str::to_owned))
    };
    running(None).expect(id, "success");
    running(Some("agent:1")).expect(id, "success");
    let old = running(Some("agent:2"));
    old.expect_message(id, "failure", &["agent:1", "agent:2"]);
    assert!(!old.is_open(Gate::Install));
    for stage in HostStage::ALL {
        let installing =
            running(Some("agent:1")).with_host(|host| host.progress.stage = Some(*stage));
        installing.expect(id, "absent");
    }
}
