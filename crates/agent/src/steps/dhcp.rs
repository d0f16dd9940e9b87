//! `dhcp-lease-allocate`: leases the virtual addresses of a cluster from the network's server.
//!
//! Each lease is taken under a hardware address that belongs to the cluster, on a link of its
//! own that exists only meanwhile.

use std::{net::Ipv4Addr, time::Duration};

use jiff::Timestamp;
use muster_machine::Task;
use serde::{Deserialize, Serialize};

use super::{
    Context, Outcome,
    args::{Mac, Nic, Unusable, one},
};
use crate::dhcp::{LeaseRequest, address_in, lease, lease_text};

const LIMIT: Duration = Duration::from_secs(28);

#[derive(Debug, Deserialize)]
struct Request {
    interface: Nic,
    api_vip_mac: Mac,
    ingress_vip_mac: Mac,
    #[serde(default)]
    api_vip_lease: String,
    #[serde(default)]
    ingress_vip_lease: String,
}

#[derive(Debug, Serialize)]
struct Reply {
    api_vip_address: Ipv4Addr,
    api_vip_lease: String,
    ingress_vip_address: Ipv4Addr,
    ingress_vip_lease: String,
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Request = one(args)?;
    let api = leased(
        context,
        &request.interface,
        "api",
        &request.api_vip_mac,
        &request.api_vip_lease,
    );
    let (api_vip_address, api_vip_lease) = match api.await? {
        Ok(leased) => leased,
        Err(problem) => return Ok(Outcome::refused(problem)),
    };
    let (mac, known) = (&request.ingress_vip_mac, &request.ingress_vip_lease);
    let ingress = leased(context, &request.interface, "ingress", mac, known);
    Ok(match ingress.await? {
        Ok((ingress_vip_address, ingress_vip_lease)) => Outcome::json(&Reply {
            api_vip_address,
            api_vip_lease,
            ingress_vip_address,
            ingress_vip_lease,
        }),
        Err(problem) => Outcome::refused(problem),
    })
}

type Leased = Result<(Ipv4Addr, String), String>;

async fn leased(
    context: &Context,
    nic: &str,
    link: &str,
    mac: &Mac,
    known: &str,
) -> Result<Leased, Unusable> {
    let bytes = mac
        .ethernet()
        .ok_or_else(|| Unusable(format!("{} is no hardware address of Ethernet", mac.0)))?;
    let request = LeaseRequest {
        link: link.to_owned(),
        mac: bytes,
        hostname: format!("{}-{link}", mac.0.replace(':', "-")),
        known: address_in(known),
    };
    if let Err(problem) = make(context, nic, link, &mac.0).await {
        return Ok(Err(problem));
    }
    let result = lease(&request, LIMIT).await;
    let _ = ip(context, &["link", "delete", "dev", link]).await;
    Ok(match result {
        Ok(offer) => Ok((offer.address, lease_text(link, &offer, Timestamp::now()))),
        Err(cause) => Err(format!("no lease for {link}: {cause}")),
    })
}

/// A link of our own on the interface, with the hardware address of the cluster.
async fn make(context: &Context, nic: &str, link: &str, mac: &str) -> Result<(), String> {
    // One that an earlier run left behind, perhaps on another interface.
    let _ = ip(context, &["link", "delete", "dev", link]).await;
    let kind = ["type", "macvlan", "mode", "private"];
    let add = ["link", "add", "link", nic, "name", link, "address", mac];
    ip(context, &[&add[..], &kind[..]].concat()).await?;
    ip(context, &["link", "set", "dev", link, "up"]).await
}

async fn ip(context: &Context, args: &[&str]) -> Result<(), String> {
    let task = Task::new("ip", "a link to lease an address with").args(args.iter().copied());
    let finished = context
        .task(task)
        .await
        .map_err(|cause| cause.to_string())?;
    if finished.succeeded() {
        return Ok(());
    }
    Err(format!(
        "ip {} says: {}",
        args.join(" "),
        finished.err().trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_and_hardware_addresses_are_checked() {
        let args = |nic: &str, mac: &str| {
            let value = serde_json::json!({
                "interface": nic, "api_vip_mac": mac, "ingress_vip_mac": "00:1a:4a:00:00:02",
            });
            one::<Request>(vec![value.to_string()])
        };
        assert!(args("ens3", "00:1a:4a:00:00:01").is_ok());
        assert!(args("-x", "00:1a:4a:00:00:01").is_err());
        assert!(args("ens3", "up").is_err());
    }

    #[test]
    fn the_engine_reads_the_leases() {
        let reply = Reply {
            api_vip_address: Ipv4Addr::new(192, 0, 2, 50),
            api_vip_lease: "lease {}".into(),
            ingress_vip_address: Ipv4Addr::new(192, 0, 2, 51),
            ingress_vip_lease: "lease {}".into(),
        };
        let text = Outcome::json(&reply).output;
        let read: muster_engine::reports::LeaseReply = serde_json::from_str(&text).unwrap();
        assert_eq!(read.ingress_vip_address, "192.0.2.51");
    }
}
