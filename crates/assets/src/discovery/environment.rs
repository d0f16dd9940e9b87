//! Variables in units of systemd.

use std::fmt::Write;

use muster_model::InfraEnv;

/// One `Environment=` line; quoted only if it must be.
pub fn assignment(name: &str, value: &str) -> String {
    let value = value.replace('%', "%%");
    let mut line = String::from("Environment=");
    // Writing to a text cannot fail.
    let _ = if value.contains([' ', '\t', '"', '\'', '\\', '\n']) {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', " ");
        writeln!(line, "\"{name}={value}\"")
    } else {
        writeln!(line, "{name}={value}")
    };
    line
}

/// The proxy as every program looks for it: name in capitals, value, which may be empty.
pub fn proxy(infra_env: &InfraEnv) -> [(&'static str, &str); 3] {
    let proxy = &infra_env.proxy;
    [
        ("HTTP_PROXY", proxy.http.as_deref().unwrap_or_default()),
        ("HTTPS_PROXY", proxy.https.as_deref().unwrap_or_default()),
        ("NO_PROXY", proxy.no_proxy.as_deref().unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_reach_the_program_as_they_are() {
        assert_eq!(assignment("A", "b%20c"), "Environment=A=b%%20c\n");
        assert_eq!(
            assignment("A", "b \"c\\"),
            "Environment=\"A=b \\\"c\\\\\"\n"
        );
        assert_eq!(assignment("A", ""), "Environment=A=\n");
    }
}
