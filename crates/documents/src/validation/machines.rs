//! What is asked of a machine, whichever file describes it.

use serde_json::Value;

use super::{Diagnostics, checks::is_unicast_mac};
use crate::{install_config::types::RootDeviceHints, schema::wording::shown};

/// A card has an address, and one of its own.
pub fn card(path: &str, mac: &str, missing: &str, diagnostics: &mut Diagnostics) {
    if mac.is_empty() {
        diagnostics.fault(path, "this is missing", missing);
    } else if !is_unicast_mac(mac) {
        diagnostics.fault(
            path,
            format!("{} is not the address of a network card", shown(mac)),
            "write six bytes such as `52:54:00:12:34:56`",
        );
    }
}

/// A disk can be recognised by its name only where that name is stable.
pub fn root_device(path: &str, hints: Option<&RootDeviceHints>, diagnostics: &mut Diagnostics) {
    let name = hints.map_or("", |hints| &*hints.device_name);
    if name.is_empty() {
        return;
    }
    let below = name
        .strip_prefix("/dev/disk/by-path/")
        .or_else(|| name.strip_prefix("/dev/"));
    if below.is_none_or(|below| below.is_empty() || below.contains('/')) {
        diagnostics.fault(
            format!("{path}.rootDeviceHints.deviceName"),
            format!("{} cannot be used to recognise a disk", shown(name)),
            "write `/dev/<name>` or `/dev/disk/by-path/<name>`; for others use `wwn` or `serialNumber`",
        );
    }
}

/// Machines report world wide names without the extension of their vendor.
pub fn wwn_extension(path: &str, hints: Option<&RootDeviceHints>, diagnostics: &mut Diagnostics) {
    let Some(hints) = hints else {
        return;
    };
    for (name, value) in [
        ("wwnWithExtension", &hints.wwn_with_extension),
        ("wwnVendorExtension", &hints.wwn_vendor_extension),
    ] {
        if !value.is_empty() {
            diagnostics.fault(
                format!("{path}.rootDeviceHints.{name}"),
                "machines do not report this",
                "use `wwn`",
            );
        }
    }
}

/// The state of a network is a mapping, and its numbers are numbers.
pub fn network_config(path: &str, config: Option<&Value>, diagnostics: &mut Diagnostics) {
    let Some(config) = config else {
        return;
    };
    let path = format!("{path}.networkConfig");
    let Value::Object(state) = config else {
        diagnostics.fault(
            path,
            "this is not a mapping",
            "write nmstate: `interfaces:` and so on",
        );
        return;
    };
    let interfaces = state.get("interfaces").and_then(Value::as_array);
    for interface in interfaces.into_iter().flatten() {
        let mtu = interface.get("mtu");
        let Some(mtu) = mtu.filter(|mtu| !mtu.is_i64() && !mtu.is_null()) else {
            continue;
        };
        let name = interface.get("name").and_then(Value::as_str);
        diagnostics.fault(
            path.as_str(),
            format!(
                "the mtu of interface {} is {mtu}, not a whole number",
                shown(name.unwrap_or("without name"))
            ),
            "write it without quotes: `mtu: 1500`",
        );
    }
}
