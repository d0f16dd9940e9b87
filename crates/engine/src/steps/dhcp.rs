//! Leasing the virtual addresses; the rules for it are in [`crate::leases`].

use muster_model::Host;

use crate::{agent_json, inventory::Inventory, leases, view::Environment};

pub(super) fn args(host: &Host, around: &Environment<'_>) -> Option<Vec<String>> {
    let inventory = Inventory::of(host).ok()?;
    let request = leases::request(around.cluster?, &inventory)?;
    Some(vec![agent_json::text(&request)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fleet;

    #[test]
    fn only_hosts_of_a_cluster_that_leases_are_asked_and_only_with_an_inventory() {
        let mut fleet = Fleet::ready(3, 3);
        let ask = |fleet: &Fleet, host: &Host| {
            let around = Environment {
                cluster: Some(&fleet.cluster),
                ..Environment::default()
            };
            args(host, &around)
        };
        assert_eq!(ask(&fleet, fleet.host(1)), None);
        fleet.cluster.vip_dhcp_allocation = Some(true);
        let asked = ask(&fleet, fleet.host(1)).unwrap();
        assert!(asked.len() == 1 && asked[0].starts_with(r#"{"interface":"eth0","api_vip_mac":"#));
        assert!(!asked[0].contains("lease"), "none so far: {}", asked[0]);
        assert_eq!(args(fleet.host(1), &Environment::default()), None);
        let mut blank = fleet.host(1).clone();
        blank.reports.inventory = None;
        assert_eq!(ask(&fleet, &blank), None);
    }
}
