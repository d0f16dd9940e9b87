//! `domain-resolution`: what the names of the cluster mean where this machine stands.

use std::{net::IpAddr, sync::Arc};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::{
    Context, Outcome,
    args::{Domain, Unusable, one},
};
use muster_names::{Meaning, Resolver};

const MOST: usize = 256;

#[derive(Debug, Deserialize)]
struct Request {
    domains: Vec<Asked>,
}

#[derive(Debug, Deserialize)]
struct Asked {
    domain_name: Domain,
}

#[derive(Debug, Serialize)]
struct Reply {
    resolutions: Vec<Resolution>,
}

#[derive(Debug, Serialize)]
struct Resolution {
    /// `null` when there are none.
    cnames: Option<Vec<String>>,
    domain_name: String,
    ipv4_addresses: Vec<IpAddr>,
    ipv6_addresses: Vec<IpAddr>,
}

pub(super) async fn run(_: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Request = one(args)?;
    if request.domains.len() > MOST {
        return Err(Unusable(format!("more than {MOST} names")));
    }
    let resolver = Arc::new(Resolver::of_system());
    // All at once; a task set ends its tasks when the step is given up.
    let mut tasks = JoinSet::new();
    for (place, asked) in request.domains.into_iter().enumerate() {
        let resolver = Arc::clone(&resolver);
        tasks.spawn(async move {
            let found = resolver.addresses(&asked.domain_name).await;
            (place, asked.domain_name.to_string(), found)
        });
    }
    let mut answers: Vec<_> = tasks.join_all().await;
    answers.sort_by_key(|(place, ..)| *place);
    let mut complaints = Vec::new();
    let mut resolutions = Vec::new();
    for (_, name, found) in answers {
        let found = found.unwrap_or_else(|cause| {
            complaints.push(format!("{name}: {cause}"));
            Meaning::default()
        });
        resolutions.push(resolution(name, found));
    }
    let mut outcome = Outcome::json(&Reply { resolutions });
    outcome.error = complaints.join("\n");
    Ok(outcome)
}

fn resolution(domain_name: String, found: Meaning) -> Resolution {
    let (ipv4_addresses, ipv6_addresses) = found.addresses.into_iter().partition(IpAddr::is_ipv4);
    Resolution {
        cnames: found.canonical.map(|name| vec![name]),
        domain_name,
        ipv4_addresses,
        ipv6_addresses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_the_shape_the_engine_reads_and_the_reference_writes() {
        let found = Meaning {
            addresses: vec!["192.168.126.100".parse().unwrap()],
            canonical: Some("api.c.example.".into()),
        };
        let resolutions = vec![
            resolution("api.c.example".into(), found),
            resolution("none.example".into(), Meaning::default()),
        ];
        let text = Outcome::json(&Reply { resolutions }).output;
        assert_eq!(
            text,
            r#"{"resolutions":[{"cnames":["api.c.example."],"domain_name":"api.c.example","ipv4_addresses":["192.168.126.100"],"ipv6_addresses":[]},{"cnames":null,"domain_name":"none.example","ipv4_addresses":[],"ipv6_addresses":[]}]}"#
        );
        let read: muster_engine::reports::Resolutions = serde_json::from_str(&text).unwrap();
        assert_eq!(read.resolutions.items().len(), 2);
    }

    #[test]
    fn only_domain_names_are_asked_for() {
        let good = r#"{"domains":[{"domain_name":"validateNoWildcardDNS.c.example."}]}"#;
        assert!(one::<Request>(vec![good.into()]).is_ok());
        for bad in [
            r#"{"domains":[{"domain_name":"a b"}]}"#,
            r#"{"domains":[{"domain_name":"$(id).example"}]}"#,
            r#"{"domains":[{}]}"#,
            "{}",
        ] {
            assert!(one::<Request>(vec![bad.into()]).is_err(), "{bad}");
        }
    }
}
