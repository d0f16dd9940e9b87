//! Tang servers as users write them: a JSON list inside a text.

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IgnoredAny, MapAccess, Visitor},
};

/// A server that helps to open disks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TangServer {
    /// Where it answers.
    pub url: String,
    /// Thumbprint of its signing key.
    pub thumbprint: String,
}

/// Reads the list. Upper and lower case of member names make no difference: `URL` and
/// `Thumbprint` are what Go programs write.
///
/// # Errors
/// The text is not such a list.
pub fn read(text: &str) -> Result<Vec<TangServer>, serde_json::Error> {
    serde_json::from_str(text)
}

/// The list in the spelling every agent knows; a text that cannot be read is returned unchanged.
#[must_use]
pub fn spelled(text: &str) -> String {
    let servers = read(text);
    let spelled = servers.and_then(|servers| serde_json::to_string(&servers));
    spelled.unwrap_or_else(|_| text.to_owned())
}

impl<'de> Deserialize<'de> for TangServer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = TangServer;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object with url and thumbprint")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TangServer, A::Error> {
                let mut server = TangServer::default();
                while let Some(name) = map.next_key::<String>()? {
                    match name.to_ascii_lowercase().as_str() {
                        "url" => server.url = map.next_value()?,
                        "thumbprint" => server.thumbprint = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(server)
            }
        }
        from.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_of_member_names_makes_no_difference() {
        let plain = r#"[{"url":"http://t:7500","thumbprint":"p"}]"#;
        for text in [
            plain,
            r#"[{"URL":"http://t:7500","Thumbprint":"p","port":1}]"#,
            r#"[{"Thumbprint":"p","Url":"http://t:7500"}]"#,
        ] {
            assert_eq!(spelled(text), plain, "{text}");
        }
        for bad in ["", "{}", "[1]", r#"[{"url":1}]"#] {
            assert!(read(bad).is_err(), "{bad}");
            assert_eq!(spelled(bad), bad);
        }
    }
}
