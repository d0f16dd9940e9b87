//! `verify-vips`: are the virtual addresses in use already?

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    Context, Outcome,
    args::{Unusable, one},
};
use crate::probe::{
    arp::{self, ArpOptions},
    links::{self, Nic},
    ndp,
    ping::{PingOptions, ping},
};

const ASK: ArpOptions = ArpOptions {
    rounds: 3,
    gap: Duration::from_millis(400),
    wait: Duration::from_secs(1),
};
const MOST: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Purpose {
    Api,
    Ingress,
}

#[derive(Debug, Deserialize)]
struct Vip {
    vip: IpAddr,
    vip_type: Purpose,
}

#[derive(Debug, Serialize)]
struct Verification {
    verification: &'static str,
    vip: IpAddr,
    vip_type: Purpose,
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let vips: Vec<Vip> = one(args)?;
    if vips.len() > MOST {
        return Err(Unusable(format!("more than {MOST} addresses")));
    }
    let mut verifications = Vec::new();
    for Vip { vip, vip_type } in vips {
        match is_taken(context, vip).await {
            Ok(taken) => verifications.push(Verification {
                verification: if taken { "failed" } else { "succeeded" },
                vip,
                vip_type,
            }),
            Err(cause) => {
                return Ok(Outcome::refused(format!("{vip} cannot be tried: {cause}")));
            }
        }
    }
    Ok(Outcome::json(&verifications))
}

async fn is_taken(context: &Context, vip: IpAddr) -> io::Result<bool> {
    if links::own_addresses(&*context.machine)?.contains(&vip) {
        return Ok(true);
    }
    let beside: Vec<Nic> = links::all(&*context.machine)?
        .into_iter()
        .filter(|nic| nic.mac.is_some() && nic.addresses.iter().any(|net| net.contains(&vip)))
        .collect();
    if beside.is_empty() {
        return answers_from_afar(vip).await;
    }
    for nic in beside {
        let answered = match vip {
            IpAddr::V4(vip) => {
                let Some(source) = nic.beside(vip) else {
                    continue;
                };
                !arp::who_has(&nic, source, &[vip], ASK).await?.is_empty()
            }
            IpAddr::V6(vip) => !ndp::who_has(&nic, &[vip], ASK).await?.is_empty(),
        };
        if answered {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Behind a router only those who want to answer do: a ping, or the port an API or a web
/// server would have. A refused connection is an answer, too.
async fn answers_from_afar(vip: IpAddr) -> io::Result<bool> {
    let how = PingOptions {
        count: 2,
        gap: Duration::from_millis(300),
        wait: Duration::from_secs(1),
        payload: 56,
        nic: None,
        whole: false,
    };
    if ping(vip.is_ipv6(), &[vip], how)
        .await?
        .iter()
        .any(|echoes| echoes.any())
    {
        return Ok(true);
    }
    for port in [443, 6443] {
        let connecting = tokio::net::TcpStream::connect(SocketAddr::new(vip, port));
        match tokio::time::timeout(Duration::from_secs(1), connecting).await {
            Ok(Ok(_)) => return Ok(true),
            Ok(Err(cause)) if cause.kind() == ErrorKind::ConnectionRefused => return Ok(true),
            Ok(Err(_)) | Err(_) => {}
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_purposes_are_checked() {
        let good =
            r#"[{"vip":"192.168.1.100","vip_type":"api"},{"vip":"fd00::1","vip_type":"ingress"}]"#;
        assert_eq!(one::<Vec<Vip>>(vec![good.into()]).unwrap().len(), 2);
        for bad in [
            r#"[{"vip":"$(id)","vip_type":"api"}]"#,
            r#"[{"vip":"10.0.0.1","vip_type":"other"}]"#,
            r#"[{"vip_type":"api"}]"#,
        ] {
            assert!(one::<Vec<Vip>>(vec![bad.into()]).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_engine_reads_the_results() {
        let verifications = [Verification {
            verification: "succeeded",
            vip: "192.168.126.100".parse().unwrap(),
            vip_type: Purpose::Api,
        }];
        let text = Outcome::json(&verifications).output;
        assert_eq!(
            text,
            r#"[{"verification":"succeeded","vip":"192.168.126.100","vip_type":"api"}]"#
        );
        let read: Vec<muster_engine::reports::VipVerdict> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.len(), 1);
    }
}
