//! iPXE scripts, and who gets none.
//!
//! Firmware that always tries the network first would boot the discovery image again and again.
//! With boot-order control the script leads back here with the card's address, and a host that
//! has its system on disk gets no script, so its firmware goes on to the disk.

use muster_engine::inventory::Inventory;
use muster_model::{Host, HostStage, HostStatus, InfraEnv, Timestamp};
use url::Url;

use super::links::{self, file_url, signed, signed_file};
use crate::{App, Error, link_places::BOOT_INITRD};

/// Name of the file and of the script type that follows the boot order.
pub const FILE: &str = "ipxe-script";
/// Value of `ipxe_script_type`.
pub const BOOT_ORDER_CONTROL: &str = "boot-order-control";

const CONSOLES: &str = "console=tty1 console=ttyS1,115200n8";

/// What a boot script, or a node that boots from its own disk, fetches.
pub struct Artifacts {
    pub kernel: String,
    pub rootfs: String,
    /// Signed: the address alone opens the image.
    pub initrd: String,
}

impl std::fmt::Debug for Artifacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifacts")
            .field("kernel", &self.kernel)
            .finish_non_exhaustive()
    }
}

/// The script for this request.
pub async fn script(
    app: &App,
    infra_env: &InfraEnv,
    mac: Option<&str>,
    script_type: Option<&str>,
    now: Timestamp,
) -> Result<String, Error> {
    if let Some(mac) = mac {
        let hosts = app.store.hosts_of_infra_env(infra_env.id).await?;
        may_boot_discovery(hosts.iter().map(|row| &**row), mac)?;
    } else if script_type == Some(BOOT_ORDER_CONTROL) {
        let url = file_url(app, infra_env.id, FILE, None);
        let url = signed_file(app, &plain_for_firmware(app, &url), infra_env, now)?.url;
        return Ok(chain_script(&url));
    }
    Ok(boot_script(&artifacts(app, infra_env, now)?, infra_env))
}

/// The addresses for one infra-env.
pub fn artifacts(app: &App, infra_env: &InfraEnv, now: Timestamp) -> Result<Artifacts, Error> {
    let image = links::os_image(app, infra_env)?.ok_or_else(|| {
        Error::invalid("this service does not serve boot images (images.enabled is off)")
    })?;
    let base = app.config.server.image_service_url.as_str();
    let base = if app.config.server.has_plain_listener() {
        // Served by us, they are at our plain port; elsewhere, the port stays.
        match app.config.server.image_service_url == app.config.server.base_url {
            true => plain_for_firmware(app, base),
            false => over_http(base, None),
        }
    } else {
        base.to_owned()
    };
    let query = format!(
        "arch={}&version={}",
        image.cpu_architecture, image.openshift_version
    );
    let initrd = format!("{base}/images/{}/pxe-initrd?{query}", infra_env.id);
    // The image service shows the key of this link to us when it fetches what goes into it.
    let initrd = signed(app, &initrd, infra_env, BOOT_INITRD, now)?;
    Ok(Artifacts {
        kernel: format!("{base}/boot-artifacts/kernel?{query}"),
        rootfs: format!("{base}/boot-artifacts/rootfs?{query}"),
        initrd: initrd.url,
    })
}

/// The address of our own plain listener, if there is one: most firmware trusts no private CA.
fn plain_for_firmware(app: &App, url: &str) -> String {
    let server = &app.config.server;
    match server.http_listen_port {
        Some(port) => over_http(url, Some((server.listen.port(), port))),
        None => url.to_owned(),
    }
}

/// The same address over HTTP; where it names the TLS port, the plain one takes its place.
fn over_http(url: &str, ports: Option<(u16, u16)>) -> String {
    let Ok(mut parsed) = Url::parse(url) else {
        return url.to_owned();
    };
    if parsed.scheme() == "http" || parsed.set_scheme("http").is_err() {
        return url.to_owned();
    }
    if let Some((tls, plain)) = ports
        && parsed.port().unwrap_or(443) == tls
    {
        // Only addresses without a host refuse a port, and those have none to begin with.
        let _ = parsed.set_port(Some(plain));
    }
    parsed.as_str().trim_end_matches('/').to_owned()
}

fn chain_script(url: &str) -> String {
    format!("#!ipxe\nchain {url}&mac=${{net0/mac}}\n")
}

fn boot_script(artifacts: &Artifacts, infra_env: &InfraEnv) -> String {
    let Artifacts {
        kernel,
        rootfs,
        initrd,
    } = artifacts;
    let extra: String = infra_env
        .kernel_arguments
        .iter()
        .flatten()
        .map(|argument| format!(" {}", argument.value))
        .collect();
    format!(
        "#!ipxe\n\
         initrd --name initrd {initrd}\n\
         kernel {kernel} initrd=initrd coreos.live.rootfs_url={rootfs} random.trust_cpu=on \
         rd.luks.options=discard ignition.firstboot ignition.platform.id=metal {CONSOLES} \
         coreos.inst.persistent-kargs=\"{CONSOLES}\"{extra}\n\
         boot\n"
    )
}

/// Refuses a host that has its system on disk.
fn may_boot_discovery<'a>(hosts: impl Iterator<Item = &'a Host>, mac: &str) -> Result<(), Error> {
    let mut owners = hosts.filter(|host| has_card(host, mac));
    let Some(host) = owners.next() else {
        return Ok(());
    };
    if let Some(other) = owners.next() {
        return Err(Error::conflict(format!(
            "hosts {} and {} both have a NIC with MAC address {mac}; delete the one that no longer exists",
            host.id, other.id
        )));
    }
    if is_on_disk(host) {
        return Err(Error::not_found(format!(
            "host {} has its system on disk, so it must not boot the discovery image",
            host.id
        )));
    }
    Ok(())
}

fn has_card(host: &Host, mac: &str) -> bool {
    let bare = |text: &str| {
        text.chars()
            .filter(char::is_ascii_hexdigit)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    let Some(inventory) = Inventory::known(host) else {
        return false;
    };
    inventory
        .interfaces
        .items()
        .iter()
        .any(|nic| bare(&nic.mac_address) == bare(mac))
}

fn is_on_disk(host: &Host) -> bool {
    use HostStage::{Configuring, Done, Joined, Rebooting, WaitingForIgnition};
    let past_writing = matches!(
        host.progress.stage,
        Some(Done | Configuring | Joined | Rebooting | WaitingForIgnition)
    );
    host.status == HostStatus::Installed
        || (host.status == HostStatus::InstallingInProgress && past_writing)
}

#[cfg(test)]
mod tests {
    use muster_model::{HostId, HostKey, InfraEnvId, KernelArgument};
    use uuid::Uuid;

    use super::*;
    use crate::infra_envs::blank::tests::an_infra_env;

    fn host(id: u128, mac: &str, status: HostStatus, stage: Option<HostStage>) -> Host {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::nil()),
            host: HostId(Uuid::from_u128(id)),
        };
        let mut host = Host::registered(key, None, "admin", Timestamp(0));
        host.reports.inventory =
            Some(format!(r#"{{"interfaces":[{{"name":"eth0","mac_address":"{mac}"}}]}}"#).into());
        host.status = status;
        host.progress.stage = stage;
        host
    }

    #[test]
    fn scripts_have_the_lines_firmware_expects() {
        let artifacts = Artifacts {
            kernel: "http://k".to_owned(),
            rootfs: "http://r".to_owned(),
            initrd: "http://i".to_owned(),
        };
        let mut infra_env = an_infra_env();
        infra_env.kernel_arguments = Some(vec![KernelArgument {
            operation: "append".to_owned(),
            value: "p1".to_owned(),
        }]);
        let script = boot_script(&artifacts, &infra_env);
        let lines: Vec<_> = script.lines().collect();
        assert_eq!(lines[0], "#!ipxe");
        assert_eq!(lines[1], "initrd --name initrd http://i");
        assert!(lines[2].starts_with(
            "kernel http://k initrd=initrd coreos.live.rootfs_url=http://r random.trust_cpu=on "
        ));
        let end = "coreos.inst.persistent-kargs=\"console=tty1 console=ttyS1,115200n8\" p1";
        assert!(lines[2].ends_with(end), "{}", lines[2]);
        assert_eq!(lines[3], "boot");
        let chain = chain_script("https://s/files?file_name=ipxe-script");
        assert_eq!(
            chain,
            "#!ipxe\nchain https://s/files?file_name=ipxe-script&mac=${net0/mac}\n"
        );
    }

    #[test]
    fn only_hosts_with_a_system_on_disk_are_turned_away() {
        let stage = HostStage::Rebooting;
        let table = [
            (HostStatus::Known, None, true),
            (HostStatus::Installed, None, false),
            (
                HostStatus::InstallingInProgress,
                Some(HostStage::Installing),
                true,
            ),
            (HostStatus::InstallingInProgress, Some(stage), false),
            (HostStatus::Error, Some(stage), true),
        ];
        for (status, stage, boots) in table {
            let host = host(1, "02:00:00:00:00:AB", status, stage);
            let answer = may_boot_discovery([&host].into_iter(), "02-00-00-00-00-ab");
            assert_eq!(answer.is_ok(), boots, "{status} {stage:?}");
            let stranger = may_boot_discovery([&host].into_iter(), "02:00:00:00:00:01");
            assert!(stranger.is_ok());
        }
    }

    #[test]
    fn two_owners_of_one_card_are_a_conflict() {
        let mac = "02:00:00:00:00:ab";
        let (a, b) = (
            host(1, mac, HostStatus::Known, None),
            host(2, mac, HostStatus::Known, None),
        );
        let refusal = may_boot_discovery([&a, &b].into_iter(), mac).unwrap_err();
        assert!(matches!(refusal, Error::Conflict(_)));
    }

    #[test]
    fn plain_addresses_keep_everything_but_scheme_and_our_own_port() {
        let table = [
            (
                "https://h:8443/x?y=1",
                Some((8443, 8080)),
                "http://h:8080/x?y=1",
            ),
            ("https://h/x", Some((8443, 8080)), "http://h/x"),
            ("https://h", None, "http://h"),
            ("http://h:1/x", Some((1, 2)), "http://h:1/x"),
        ];
        for (url, ports, wanted) in table {
            assert_eq!(over_http(url, ports), wanted);
        }
    }
}
