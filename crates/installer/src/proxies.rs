//! The proxies of an installation, and how programs are run with them or past them.
//!
//! Two sets meet here. Those of this program's own environment lead to the service: the agent had them
//! and hands them on. Those of the cluster are for the programs that fetch images. Both may contain a
//! password, so they travel in environments, never on a command line.

use muster_api::client::Proxies;
use muster_machine::Task;

/// Variables with the proxies of the cluster. Their names differ from the usual ones, because the way
/// to the service may be another.
pub mod of_cluster {
    /// For HTTP.
    pub const HTTP: &str = "INSTALL_HTTP_PROXY";
    /// For HTTPS.
    pub const HTTPS: &str = "INSTALL_HTTPS_PROXY";
    /// What is reached without them.
    pub const EXCEPT: &str = "INSTALL_NO_PROXY";
}

/// The proxies of an environment.
pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Proxies {
    let either = |name: &str| {
        let spellings = [name.to_owned(), name.to_lowercase()];
        let mut values = spellings.iter().filter_map(|spelling| variable(spelling));
        values.find(|value| !value.is_empty()).unwrap_or_default()
    };
    Proxies {
        http: either("HTTP_PROXY"),
        https: either("HTTPS_PROXY"),
        except: either("NO_PROXY"),
    }
}

/// Names and values for an environment, in both spellings: some programs know only one of them. What
/// is empty is left out.
#[must_use]
pub fn variables(proxies: &Proxies) -> Vec<(String, &str)> {
    let named = [
        ("HTTP_PROXY", proxies.http.as_str()),
        ("HTTPS_PROXY", &proxies.https),
        ("NO_PROXY", &proxies.except),
    ];
    let set = named.into_iter().filter(|(_, value)| !value.is_empty());
    set.flat_map(|(name, value)| [(name.to_owned(), value), (name.to_lowercase(), value)])
        .collect()
}

/// What is excepted by either of two lists.
#[must_use]
pub fn either_excepts(one: &str, other: &str) -> String {
    let mut all = Vec::new();
    for entry in one.split(',').chain(other.split(',')).map(str::trim) {
        if entry == "*" {
            return entry.to_owned();
        }
        if !entry.is_empty() && !all.contains(&entry) {
            all.push(entry);
        }
    }
    all.join(",")
}

/// The way to the service: the proxies of this program's environment, except for what the
/// installation reaches without. None if the environment has no proxy.
#[must_use]
pub fn to_service(own: Proxies, except: &str) -> Option<Proxies> {
    if own.http.is_empty() && own.https.is_empty() {
        return None;
    }
    Some(match except {
        "*" => Proxies::default(),
        except => Proxies {
            except: except.to_owned(),
            ..own
        },
    })
}

/// A program that fetches something through the proxies of the cluster. Without any it has the
/// environment of this program.
#[must_use]
pub(crate) fn through(proxies: &Proxies, task: Task) -> Task {
    if proxies.http.is_empty() && proxies.https.is_empty() {
        return task;
    }
    variables(proxies)
        .into_iter()
        .fold(task, |task, (name, value)| task.env(name, value))
}

/// A program that talks to this machine or to the new cluster, where no proxy leads.
#[must_use]
pub(crate) fn past(task: Task) -> Task {
    task.env("NO_PROXY", "*").env("no_proxy", "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(http: &str, https: &str, except: &str) -> Proxies {
        Proxies {
            http: http.to_owned(),
            https: https.to_owned(),
            except: except.to_owned(),
        }
    }

    #[test]
    fn both_spellings_are_read_and_written() {
        let found = of_environment(|name| match name {
            "http_proxy" => Some("http://a".to_owned()),
            "HTTPS_PROXY" => Some("http://b".to_owned()),
            "NO_PROXY" => Some(String::new()),
            "no_proxy" => Some("c".to_owned()),
            _ => None,
        });
        assert_eq!(found, proxies("http://a", "http://b", "c"));
        let written = variables(&found);
        let names: Vec<&str> = written.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "HTTP_PROXY",
                "http_proxy",
                "HTTPS_PROXY",
                "https_proxy",
                "NO_PROXY",
                "no_proxy"
            ]
        );
        assert_eq!(variables(&proxies("", "", "c")).len(), 2);
    }

    #[test]
    fn what_one_of_two_lists_excepts_is_excepted_once() {
        assert_eq!(
            either_excepts("a, .svc", ".svc,10.0.0.0/8,"),
            "a,.svc,10.0.0.0/8"
        );
        assert_eq!(either_excepts("", ""), "");
        assert_eq!(either_excepts("a", " * "), "*");
    }

    #[test]
    fn the_service_is_reached_as_the_agent_reached_it() {
        let own = proxies("http://a", "", "service.example");
        let way = to_service(own.clone(), "service.example,.svc");
        assert_eq!(way, Some(proxies("http://a", "", "service.example,.svc")));
        assert_eq!(to_service(own, "*"), Some(Proxies::default()));
        assert_eq!(to_service(proxies("", "", "a"), "a"), None);
    }

    #[test]
    fn programs_keep_the_environment_of_this_one_where_the_cluster_has_no_proxy() {
        let task = || Task::new("oc", "test");
        assert!(
            through(&proxies("", "", "a"), task())
                .environment
                .is_empty()
        );
        assert_eq!(
            through(&proxies("", "http://b", "a"), task())
                .environment
                .len(),
            4
        );
        let past = past(task()).environment;
        assert!(past.iter().all(|(_, value)| value == "*") && past.len() == 2);
    }
}
