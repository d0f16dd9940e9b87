//! What a manifest may contain: text of the promised format, and not too much of it.
//!
//! What passes is read by others into trees, so a small document full of references to itself
//! must not pass.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use muster_assets::patches;
use muster_documents::yaml_bounds::{self, Limits};
use serde::{Deserialize, de::IgnoredAny};

use super::name::{Format, ManifestName};
use crate::Error;

/// Most bytes of a manifest.
const LARGEST: usize = 1 << 20;

/// What a manifest may grow to when it is read; without aliases none of a mebibyte does.
const LIMITS: Limits = Limits {
    depth: 200,
    values: 1_000_000,
    text: 16 << 20,
};

/// Unpacks the base64 text of a request.
pub fn decode(name: &ManifestName, base64: &str) -> Result<Bytes, Error> {
    // Encoders of the command line break lines; a broken line is no other content.
    let packed: Vec<u8> = base64
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let content = STANDARD.decode(&packed).map_err(|cause| {
        Error::invalid(format!(
            "the content of manifest {name} is not base64: {cause}"
        ))
    })?;
    if content.is_empty() {
        return Err(Error::invalid(format!(
            "the content of manifest {name} is empty"
        )));
    }
    if content.len() > LARGEST {
        return Err(Error::invalid(format!(
            "the content of manifest {name} has {} bytes, more than the {LARGEST} allowed; split it",
            content.len()
        )));
    }
    Ok(content.into())
}

/// Refuses content that is not of the format its name promises.
pub async fn check(name: &ManifestName, format: Format, content: Bytes) -> Result<(), Error> {
    let checked = tokio::task::spawn_blocking(move || check_form(format, &content)).await;
    match checked {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(Error::invalid(format!("manifest {name}: {why}"))),
        Err(_) => Err(Error::internal(format!(
            "the check of manifest {name} was aborted"
        ))),
    }
}

fn check_form(format: Format, content: &[u8]) -> Result<(), String> {
    match format {
        Format::Json => serde_json::from_slice::<IgnoredAny>(content)
            .map(drop)
            .map_err(|cause| format!("the content is not JSON: {cause}")),
        Format::Yaml => check_yaml(content),
        Format::Patch => {
            check_yaml(content)?;
            patches::read(content).map(drop)
        }
    }
}

/// Reads all documents. The parser that counts is that of the rest of the service,
/// as lenient as the installer's; it is asked only about what cannot keep it busy for long.
fn check_yaml(content: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(content)
        .map_err(|cause| format!("the content is not UTF-8 text: {cause}"))?;
    yaml_bounds::check(text, LIMITS).map_err(|fault| fault.to_string())?;
    for (index, document) in serde_yaml_ng::Deserializer::from_str(text).enumerate() {
        IgnoredAny::deserialize(document).map_err(|cause| {
            format!("document {} of the content is not YAML: {cause}", index + 1)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ManifestName {
        ManifestName::parse("a.yaml").unwrap()
    }

    #[test]
    fn exactly_one_mebibyte_passes_and_one_byte_more_does_not() {
        let packed = |size| STANDARD.encode(vec![b'a'; size]);
        assert_eq!(decode(&name(), &packed(1 << 20)).unwrap().len(), 1 << 20);
        assert!(
            decode(&name(), &packed((1 << 20) + 1))
                .unwrap_err()
                .to_string()
                .contains("split it")
        );
    }

    #[test]
    fn empty_and_unpacked_content_is_refused_and_line_breaks_are_not() {
        assert!(decode(&name(), "").is_err());
        assert!(decode(&name(), "a: b").is_err());
        assert_eq!(decode(&name(), "YTog\r\nYg==\n").unwrap(), "a: b");
    }

    #[test]
    fn content_must_have_the_form_its_name_promises() {
        for (format, content, fits) in [
            (Format::Json, r#"{"a": [1]}"#, true),
            (Format::Json, "a: b", false),
            (Format::Json, "{} {}", false),
            (Format::Yaml, "a: b\n---\nc: [1, 2]\n", true),
            (Format::Yaml, "just a scalar", true),
            (Format::Yaml, "a: [\n1,\n2\n]\nb: c\n", true),
            (Format::Yaml, "a: b\n---\nc: [1, 2\n", false),
            (Format::Yaml, "a: *nowhere", false),
            (Format::Yaml, "\tx", false),
            (
                Format::Patch,
                "- op: replace\n  path: /spec/x\n  value: {a: 1}\n",
                true,
            ),
            (
                Format::Patch,
                r#"[{"op": "remove", "path": "/spec/x"}]"#,
                true,
            ),
            (Format::Patch, "op: replace\npath: /x\n", false),
            (Format::Patch, "- op: paint\n  path: /x\n", false),
            (Format::Patch, "- op: add\n  path: spec\n", false),
            (Format::Patch, "- op: add\n", false),
        ] {
            let checked = check_form(format, content.as_bytes());
            assert_eq!(checked.is_ok(), fits, "{format:?} {content:?}: {checked:?}");
        }
        assert!(check_form(Format::Yaml, b"\xff\xfe\xff").is_err());
    }

    #[test]
    fn what_would_fill_the_memory_of_its_readers_is_refused() {
        let square = format!("- &a [{}]\n- [{}]\n", "1,".repeat(2000), "*a,".repeat(2000));
        let patch = format!(
            "- {{op: add, path: /a, value: &a {}}}\n- {{op: add, path: /b, value: [{}]}}\n",
            "x".repeat(20_000),
            "*a,".repeat(2000)
        );
        for (format, content) in [(Format::Yaml, square), (Format::Patch, patch)] {
            let refusal = check_form(format, content.as_bytes()).unwrap_err();
            assert!(
                refusal.contains("line 2: more than") && refusal.contains("aliases"),
                "{refusal}"
            );
        }
    }

    /// What this thread has computed so far: unlike the clock, not a matter of who else is busy.
    fn processor_time() -> std::time::Duration {
        let figures = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        let nanoseconds = figures.split_whitespace().next().unwrap();
        std::time::Duration::from_nanos(nanoseconds.parse().unwrap())
    }

    #[test]
    fn documents_made_to_exhaust_the_service_take_little_computing() {
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..60 {
            let refs = vec![format!("*a{}", level - 1); 9].join(", ");
            laughs.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
        }
        let stairs: String = (0..1400).map(|n| format!("{}-\n", " ".repeat(n))).collect();
        for text in [
            laughs,
            stairs,
            "[".repeat(1 << 20),
            format!("a: [\n1\n]\nb: \"{}\n- {}", "x", "{a: ".repeat(1 << 18)),
            format!("a: [\n1\n]\nb: {}", "{a: ".repeat(1900)),
            "{a: ".repeat(1 << 18),
            "- ".repeat(1 << 19),
            "? ".repeat(1 << 19),
            "a: b\n".repeat(1 << 17),
            "- &a x\n".repeat(1 << 17),
            "---\n".repeat(1 << 17),
            format!("[{}", "a, ".repeat(1 << 18)),
            format!("\"{}", "\\n ".repeat(1 << 18)),
        ] {
            for format in [Format::Yaml, Format::Json, Format::Patch] {
                let before = processor_time();
                let _ = check_form(format, text.as_bytes());
                let took = processor_time().saturating_sub(before);
                let start: String = text.chars().take(20).collect();
                assert!(took.as_secs() < 10, "{format:?} {start:?} {took:?}");
            }
        }
    }
}
