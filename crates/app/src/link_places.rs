//! What a signed link opens: an operation, and the parameters that choose a file of it.
//!
//! The same function names the place when a link is made and when it is used. A place binds each
//! value to the name of its parameter, so that no other combination of parameters spells the same
//! place. Other declared parameters (`mac`, `discovery_iso_type`, …) may be added to a link freely:
//! they choose no other file. Parameters that the operation does not declare are refused.

/// The parameters that choose a file, in the order in which they are written.
const CHOOSERS: [&str; 3] = ["file_name", "logs_type", "host_id"];

/// What the maker of boot images asks for with the token of an image.
pub const BOOT_IMAGE: &str =
    "v2DownloadInfraEnvFiles/file_name=discovery.ign DownloadMinimalInitrd GetInfraEnv";
/// The same for the initrd of a network boot.
pub const BOOT_INITRD: &str =
    "v2DownloadInfraEnvFiles/file_name=discovery.ign DownloadMinimalInitrd";

/// The place that a request to this operation asks for, such as
/// `v2DownloadInfraEnvFiles/file_name=ipxe-script`. A parameter given twice is named twice, so no link
/// fits it, whichever of the two counts later.
pub fn place(operation: &str, query: &str) -> String {
    let mut place = operation.to_owned();
    for chooser in CHOOSERS {
        for (_, value) in
            url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == chooser)
        {
            place.push('/');
            place.push_str(chooser);
            place.push('=');
            // Escaped, so that a value can contain neither a separator nor another parameter.
            place.extend(url::form_urlencoded::byte_serialize(value.as_bytes()));
        }
    }
    place
}

/// The place to which an address of this operation leads.
pub fn place_of_address(operation: &str, address: &str) -> String {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    place(operation, query)
}

#[cfg(test)]
mod tests {
    use muster_api::contract::contract;

    use super::*;

    #[test]
    fn only_parameters_that_choose_a_file_make_a_place() {
        for (query, wanted) in [
            ("", "op"),
            (
                "file_name=ipxe-script&api_key=x",
                "op/file_name=ipxe-script",
            ),
            (
                "mac=02&file%5Fname=ipxe-script&ipxe_script_type=y",
                "op/file_name=ipxe-script",
            ),
            ("host_id=7&logs_type=host", "op/logs_type=host/host_id=7"),
            (
                "file_name=ipxe-script&file_name=discovery.ign",
                "op/file_name=ipxe-script/file_name=discovery.ign",
            ),
        ] {
            assert_eq!(place("op", query), wanted, "{query}");
        }
        assert_eq!(
            place_of_address("op", "https://h/x?file_name=a"),
            "op/file_name=a"
        );
        assert_eq!(place_of_address("op", "https://h/x"), "op");
    }

    #[test]
    fn no_two_combinations_of_parameters_are_the_same_place() {
        let of_a_host = place("op", "logs_type=host&host_id=7");
        for other in [
            "file_name=host&host_id=7",
            "file_name=host&logs_type=7",
            "logs_type=host/host_id%3D7",
            "host_id=7",
        ] {
            assert_ne!(place("op", other), of_a_host, "{other}");
        }
        assert!(!place("op", "file_name=a b").contains(' '));
    }

    #[test]
    fn places_of_boot_images_are_real_operations() {
        for place in BOOT_IMAGE.split(' ').chain(BOOT_INITRD.split(' ')) {
            let operation = place.split('/').next().unwrap();
            assert!(contract().operation(operation).is_some(), "{place}");
        }
    }
}
