//! When the controller is done.

use http::StatusCode;

use crate::{hosts::Cluster, nodes::Node};

/// Refusals in a row after which the token will not be accepted again.
const UNAUTHORIZED: u32 = 3;

/// Why the controller ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The cluster is installed.
    Installed,
    /// The installation was cancelled.
    Cancelled,
    /// The installation failed, for this reason.
    Failed(String),
    /// The service does not know the cluster any more.
    Gone,
    /// The service does not accept our token any more.
    Unauthorized,
}

/// Follows the answers of the service.
#[derive(Debug, Default)]
pub struct Watchdog {
    unauthorized: u32,
}

impl Watchdog {
    /// Takes in an answer, or the status of a refusal; none if there was no answer.
    pub fn look(&mut self, answer: Result<&Cluster, Option<StatusCode>>) -> Option<End> {
        match answer {
            Err(Some(StatusCode::UNAUTHORIZED)) => {
                self.unauthorized += 1;
                return (self.unauthorized >= UNAUTHORIZED).then_some(End::Unauthorized);
            }
            Err(None) => return None,
            Ok(_) | Err(Some(_)) => self.unauthorized = 0,
        }
        match answer {
            Ok(cluster) => match cluster.status.as_str() {
                "installed" | "adding-hosts" => Some(End::Installed),
                "cancelled" => Some(End::Cancelled),
                "error" => Some(End::Failed(cluster.status_info.clone())),
                _ => None,
            },
            Err(Some(StatusCode::NOT_FOUND)) => Some(End::Gone),
            Err(_) => None,
        }
    }
}

/// Whether a cluster without a service is installed: its version is available and its control
/// plane is complete.
#[must_use]
pub fn is_complete(version_available: bool, nodes: &[Node], control_plane_count: usize) -> bool {
    let control_plane = nodes.iter().filter(|node| node.is_control_plane());
    version_available && control_plane.count() >= control_plane_count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_decides_and_silence_decides_nothing() {
        let mut watchdog = Watchdog::default();
        let mut after = |status: &str| {
            let cluster = Cluster {
                status: status.to_owned(),
                status_info: "why".to_owned(),
                ..Cluster::default()
            };
            watchdog.look(Ok(&cluster))
        };
        assert_eq!(after("finalizing"), None);
        assert_eq!(after("installed"), Some(End::Installed));
        assert_eq!(after("adding-hosts"), Some(End::Installed));
        assert_eq!(after("cancelled"), Some(End::Cancelled));
        assert_eq!(after("error"), Some(End::Failed("why".to_owned())));
        assert_eq!(watchdog.look(Err(None)), None);
        let gone = Err(Some(StatusCode::NOT_FOUND));
        assert_eq!(watchdog.look(gone), Some(End::Gone));
        assert_eq!(watchdog.look(Err(Some(StatusCode::BAD_GATEWAY))), None);
    }

    #[test]
    fn the_third_refusal_in_a_row_ends_it() {
        let mut watchdog = Watchdog::default();
        let refused = Err(Some(StatusCode::UNAUTHORIZED));
        assert_eq!(watchdog.look(refused), None);
        assert_eq!(watchdog.look(refused), None);
        assert_eq!(watchdog.look(Ok(&Cluster::default())), None);
        assert_eq!(watchdog.look(refused), None);
        assert_eq!(watchdog.look(Err(None)), None, "no answer is no acceptance");
        assert_eq!(watchdog.look(refused), None);
        assert_eq!(watchdog.look(refused), Some(End::Unauthorized));
    }

    #[test]
    fn without_a_service_the_cluster_itself_says_so() {
        let mut node = Node::default();
        assert!(!is_complete(true, &[node.clone()], 1));
        node.labels
            .insert("node-role.kubernetes.io/master".to_owned(), String::new());
        assert!(is_complete(true, &[node.clone()], 1));
        assert!(!is_complete(false, &[node.clone()], 1));
        assert!(!is_complete(true, &[node], 3));
    }
}
