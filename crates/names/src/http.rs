//! Address resolution of HTTP clients.

use std::{io, net::SocketAddr, sync::Arc};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::Resolver;

/// The system's resolver and, if that fails, ours, which asks for each IP family by itself and takes
/// what it gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgiving;

/// What a client's builder takes.
#[must_use]
pub fn for_http() -> Arc<Forgiving> {
    Arc::new(Forgiving)
}

impl Resolve for Forgiving {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let failure = match tokio::net::lookup_host((name.as_str(), 0)).await {
                Ok(found) => {
                    let found: Vec<SocketAddr> = found.collect();
                    return Ok(Box::new(found.into_iter()) as Addrs);
                }
                Err(failure) => failure,
            };
            let found = second_opinion(&Resolver::of_system(), name.as_str(), failure).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// What our resolver finds; the failure of the system's if it finds nothing.
async fn second_opinion(
    resolver: &Resolver,
    name: &str,
    failure: io::Error,
) -> io::Result<Vec<SocketAddr>> {
    match resolver.addresses(name).await {
        Ok(found) if !found.addresses.is_empty() => {
            let addresses = found.addresses.into_iter();
            Ok(addresses.map(|address| (address, 0).into()).collect())
        }
        Ok(_) | Err(_) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::*;

    #[tokio::test]
    async fn what_the_system_cannot_say_is_asked_of_the_servers() {
        let failure = || io::Error::other("Try again");
        let resolver = Resolver::with("", "192.0.2.7 api.lab.example.com\n");
        let found = second_opinion(&resolver, "api.lab.example.com", failure()).await;
        assert_eq!(found.unwrap(), ["192.0.2.7:0".parse().unwrap()]);
        let missing = second_opinion(&resolver, "api.other.example.com", failure()).await;
        assert_eq!(missing.unwrap_err().to_string(), "Try again");
    }
}
