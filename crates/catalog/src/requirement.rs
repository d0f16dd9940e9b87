//! How much of a machine something needs, and how such needs add up.

use std::ops::Add;

use serde::{Serialize, Serializer};

/// Needs of one host role, of an operator, or of both together.
///
/// On the wire zeros are left out, unset limits too, but a limit of 0 is printed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Requirement {
    /// CPU cores.
    #[serde(skip_serializing_if = "is_zero")]
    pub cpu_cores: u32,
    /// Memory in MiB.
    #[serde(skip_serializing_if = "is_zero")]
    pub ram_mib: u32,
    /// Installation disk in GB of 10^9 bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub disk_size_gb: u32,
    /// Slowest tolerated fsync of the installation disk; 0 for no limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub installation_disk_speed_threshold_ms: u32,
    /// Largest tolerated average round trip between hosts of the role.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "plain_number"
    )]
    pub network_latency_threshold_ms: Option<f64>,
    /// Largest tolerated share of lost packets between hosts of the role.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "plain_number"
    )]
    pub packet_loss_percentage: Option<f64>,
    /// A TPM must be switched on, as disk encryption seals its key there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tpm_enabled_in_bios: bool,
}

impl Requirement {
    /// A need of CPU and memory only, as operators have.
    pub const fn cpu_and_ram(cpu_cores: u32, ram_mib: u32) -> Self {
        Self {
            cpu_cores,
            ram_mib,
            disk_size_gb: 0,
            installation_disk_speed_threshold_ms: 0,
            network_latency_threshold_ms: None,
            packet_loss_percentage: None,
            tpm_enabled_in_bios: false,
        }
    }
}

/// Sizes add up, of limits the strictest counts.
impl Add<&Requirement> for Requirement {
    type Output = Self;

    fn add(self, other: &Self) -> Self {
        let strictest_speed = [&self, other]
            .map(|need| need.installation_disk_speed_threshold_ms)
            .into_iter()
            .filter(|limit| *limit > 0)
            .min();
        Self {
            cpu_cores: self.cpu_cores.saturating_add(other.cpu_cores),
            ram_mib: self.ram_mib.saturating_add(other.ram_mib),
            disk_size_gb: self.disk_size_gb.saturating_add(other.disk_size_gb),
            installation_disk_speed_threshold_ms: strictest_speed.unwrap_or(0),
            network_latency_threshold_ms: strictest(
                self.network_latency_threshold_ms,
                other.network_latency_threshold_ms,
            ),
            packet_loss_percentage: strictest(
                self.packet_loss_percentage,
                other.packet_loss_percentage,
            ),
            tpm_enabled_in_bios: self.tpm_enabled_in_bios || other.tpm_enabled_in_bios,
        }
    }
}

/// Negative limits mean "none", as in the reference.
fn strictest(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    [left, right]
        .into_iter()
        .flatten()
        .filter(|limit| *limit >= 0.0)
        .reduce(f64::min)
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Writes 100 rather than 100.0: the reference does, and some clients compare texts.
fn plain_number<S: Serializer>(number: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
    match number {
        None => out.serialize_none(),
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            out.serialize_i64(*number as i64)
        }
        Some(number) => out.serialize_f64(*number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_add_up_and_the_strictest_limit_wins() {
        let base = Requirement {
            disk_size_gb: 100,
            installation_disk_speed_threshold_ms: 10,
            network_latency_threshold_ms: Some(100.0),
            packet_loss_percentage: Some(0.0),
            ..Requirement::cpu_and_ram(4, 16384)
        };
        let extra = Requirement {
            network_latency_threshold_ms: Some(1000.0),
            packet_loss_percentage: Some(-1.0),
            ..Requirement::cpu_and_ram(6, 19456)
        };
        let total = base.clone() + &extra;
        assert_eq!(
            (total.cpu_cores, total.ram_mib, total.disk_size_gb),
            (10, 35840, 100)
        );
        assert_eq!(total.installation_disk_speed_threshold_ms, 10);
        assert_eq!(total.network_latency_threshold_ms, Some(100.0));
        assert_eq!(total.packet_loss_percentage, Some(0.0));
        assert_eq!(extra + &base, total);
    }

    #[test]
    fn zeros_vanish_but_a_limit_of_zero_is_printed_and_whole_numbers_stay_whole() {
        let need = Requirement {
            network_latency_threshold_ms: Some(100.0),
            packet_loss_percentage: Some(0.0),
            ..Requirement::cpu_and_ram(4, 0)
        };
        assert_eq!(
            serde_json::to_string(&need).unwrap(),
            r#"{"cpu_cores":4,"network_latency_threshold_ms":100,"packet_loss_percentage":0}"#
        );
        let half = Requirement {
            packet_loss_percentage: Some(0.5),
            ..Requirement::default()
        };
        assert_eq!(
            serde_json::to_string(&half).unwrap(),
            r#"{"packet_loss_percentage":0.5}"#
        );
        assert_eq!(
            serde_json::to_string(&Requirement::default()).unwrap(),
            "{}"
        );
    }
}
