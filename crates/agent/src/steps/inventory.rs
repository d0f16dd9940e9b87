//! `inventory`: describes the machine.

use std::{future::Future, net::IpAddr, sync::Arc, time::Duration};

use muster_machine::Machine;
use muster_names::Resolver;
use uuid::Uuid;

use super::{
    Context, Outcome,
    args::{Unusable, Usable},
};
use crate::inventory::{Limits, collect, hostname, to_json};

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let limits = limits(&args)?;
    let machine = Arc::clone(&context.machine);
    // Reading many small files and asking a BMC takes a while; others need not wait for it.
    let collected = tokio::task::spawn_blocking(move || {
        let resolver = hostname::is_unnamed(&*machine).then(|| resolver_of(&*machine));
        (collect(&*machine), resolver.flatten())
    });
    let (mut inventory, resolver) = match collected.await {
        Ok(collected) => collected,
        Err(cause) => {
            let reason = format!("the inventory was not finished: {cause}");
            return Ok(Outcome::refused(reason));
        }
    };
    if let Some(resolver) = &resolver {
        let addresses = hostname::global_addresses(inventory.interfaces.as_deref().unwrap_or(&[]));
        let name = name_among(&addresses, |address| async move {
            resolver.name_of(address).await
        });
        if let Some(name) = name.await {
            inventory.hostname = Some(name);
        }
    }
    Ok(match to_json(inventory, limits) {
        Ok(output) => Outcome {
            output,
            ..Outcome::default()
        },
        Err(cause) => Outcome::refused(format!("the inventory cannot be written: {cause}")),
    })
}

/// With the configuration of the machine; nothing if it has none.
fn resolver_of(machine: &dyn Machine) -> Option<Resolver> {
    let resolv_conf = machine.text("/etc/resolv.conf")?;
    let hosts = machine.text("/etc/hosts").unwrap_or_default();
    Some(Resolver::with(&resolv_conf, &hosts))
}

/// Longest wait for the name of this machine: an inventory without it is better than none.
const NAMING: Duration = Duration::from_secs(2);

/// The name by which servers know the first of these addresses that they know.
async fn name_among<F: Future<Output = Option<String>>>(
    addresses: &[IpAddr],
    name_of: impl Fn(IpAddr) -> F,
) -> Option<String> {
    let asking = async {
        for address in addresses {
            let name = name_of(*address)
                .await
                .map(|name| name.to_ascii_lowercase());
            if let Some(name) = name.filter(|name| hostname::is_usable(name)) {
                return Some(name);
            }
        }
        None
    };
    tokio::time::timeout(NAMING, asking).await.ok().flatten()
}

/// The id of the host, then limits in any order. Unknown ones are refused.
fn limits(args: &[String]) -> Usable<Limits> {
    let [host, rest @ ..] = args else {
        return Err(Unusable("the id of the host is missing".to_owned()));
    };
    if host.parse::<Uuid>().is_err() {
        return Err(Unusable("the first argument is no id of a host".to_owned()));
    }
    let mut limits = Limits::default();
    for arg in rest {
        let (name, value) = arg.split_once('=').unwrap_or((arg, ""));
        let Some(bytes) = value.parse::<i64>().ok().filter(|bytes| *bytes > 0) else {
            let shown: String = name.escape_debug().take(40).collect();
            return Err(Unusable(format!(
                "{shown} wants a number of bytes, if it is known at all"
            )));
        };
        match name {
            "--output-max-size" => limits.output_max_size = usize::try_from(bytes).ok(),
            "--disk-min-size" => limits.disk_min_size = Some(bytes),
            _ => {
                let shown: String = name.escape_debug().take(40).collect();
                return Err(Unusable(format!("{shown} is not known here")));
            }
        }
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Usable<Limits> {
        limits(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    const HOST: &str = "4d5b53bf-e799-b31f-f374-432d47187920";

    #[tokio::test]
    async fn the_first_usable_name_that_a_server_gives_is_the_machine_s() {
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let known = |address: IpAddr| async move {
            let IpAddr::V4(v4) = address else { return None };
            match v4.octets()[3] {
                1 => None,
                2 => Some("localhost".to_owned()),
                3 => Some("$(reboot).example.com".to_owned()),
                _ => Some("Node-4.example.com".to_owned()),
            }
        };
        let all: Vec<IpAddr> = (1..=4).map(address).collect();
        assert_eq!(
            name_among(&all, known).await.as_deref(),
            Some("node-4.example.com")
        );
        assert_eq!(name_among(&all[..3], known).await, None);
    }

    #[test]
    fn old_and_new_arguments_are_understood_and_nothing_else() {
        assert!(read(&[HOST]).unwrap().output_max_size.is_none());
        let both = read(&[HOST, "--disk-min-size=10", "--output-max-size=20"]).unwrap();
        assert_eq!(
            (both.output_max_size, both.disk_min_size),
            (Some(20), Some(10))
        );
        for bad in [
            &[][..],
            &["x"],
            &[HOST, "--output-max-size"],
            &[HOST, "--output-max-size=-1"],
            &[HOST, "; reboot"],
            &[HOST, "--exec=sh"],
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
