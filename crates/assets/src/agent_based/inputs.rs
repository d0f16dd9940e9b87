//! Which files of a directory count: those on disk, those of the last command, and what one makes
//! of the other void.

use std::collections::BTreeMap;

use muster_documents::{
    findings::{Finding, Report, Severity},
    spanned_yaml::Span,
};

use super::{AgentError, Request, Target};

/// The cluster.
pub const INSTALL_CONFIG: &str = "install-config.yaml";
/// Its hosts.
pub const AGENT_CONFIG: &str = "agent-config.yaml";
/// How a control plane of two is fenced, beside hand-written manifests.
pub const FENCING_CREDENTIALS: &str = "fencing-credentials.yaml";
/// What manifests are made of.
const CONFIGS: &[&str] = &[INSTALL_CONFIG, AGENT_CONFIG];
/// Files at the top that may count.
pub const TOP: &[&str] = &[INSTALL_CONFIG, AGENT_CONFIG, FENCING_CREDENTIALS];
/// Folders whose files may count.
pub const FOLDERS: &[&str] = &["cluster-manifests", "mirror", "openshift"];

/// Rules about the form of a file; all others are about what it says.
const FORM: &[&str] = &[
    "alias",
    "depth",
    "duplicate-key",
    "key",
    "merge",
    "readable-text",
    "size",
    "tag",
    "type",
    "unknown-field",
    "yaml",
];

/// What counts.
pub struct Effective {
    /// Files by path.
    pub inputs: BTreeMap<String, String>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Files on disk that are used up by the command.
    pub used: Vec<String>,
}

impl Effective {
    /// Those of a directory.
    pub fn of(request: &Request<'_>) -> Result<Self, AgentError> {
        let mut on_disk = BTreeMap::new();
        for (path, bytes) in &request.on_disk {
            if !counts(path) {
                continue;
            }
            let text = String::from_utf8(bytes.clone());
            let text =
                text.map_err(|_| AgentError::File(format!("{path} is not text in UTF-8")))?;
            on_disk.insert(path.clone(), text);
        }
        let earlier = request.state.as_ref();
        let mut inputs = earlier
            .map(|state| state.inputs.clone())
            .unwrap_or_default();
        if inputs.is_empty() && on_disk.is_empty() {
            return Err(AgentError::NoInput);
        }
        let within = |folder: &'static str| move |path: &String| path.starts_with(folder);
        let has_install = on_disk.contains_key(INSTALL_CONFIG);
        // Without an install-config there is nothing to make manifests of.
        let can_derive = has_install || inputs.contains_key(INSTALL_CONFIG);
        let has_config = can_derive && CONFIGS.iter().any(|name| on_disk.contains_key(*name));
        let mut notes = Vec::new();
        // Manifests follow from the configs, mirrors and fencing from the install-config.
        for (folder, is_void) in [
            ("cluster-manifests/", has_config),
            ("mirror/", has_install),
            (FENCING_CREDENTIALS, has_install),
        ] {
            if !is_void {
                continue;
            }
            inputs.retain(|path, _| !path.starts_with(folder));
            let lost: Vec<String> = on_disk
                .keys()
                .filter(|p| within(folder)(p))
                .cloned()
                .collect();
            if !lost.is_empty() {
                notes.push(format!(
                    "discarding {}: they are made again from the configs in this directory; move \
                     {INSTALL_CONFIG} and {AGENT_CONFIG} away to keep edits",
                    lost.join(", ")
                ));
                on_disk.retain(|path, _| !path.starts_with(folder));
            }
        }
        if on_disk.keys().any(within("openshift/")) {
            inputs.retain(|path, _| !path.starts_with("openshift/"));
        }
        inputs.extend(on_disk);
        let kept = |path: &String| {
            request.target == Target::ClusterManifests && !CONFIGS.contains(&path.as_str())
        };
        let used = request.on_disk.keys();
        let used = used.filter(|path| counts(path) && !kept(path));
        let used = used.cloned().collect();
        Ok(Self {
            inputs,
            notes,
            used,
        })
    }
}

/// The files that count, by path.
///
/// # Errors
/// There are none, or one is not text.
pub fn inputs(request: &Request<'_>) -> Result<BTreeMap<String, String>, AgentError> {
    Effective::of(request).map(|effective| effective.inputs)
}

fn counts(path: &str) -> bool {
    let is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
    match path.split_once('/') {
        None => TOP.contains(&path),
        Some(("cluster-manifests", _)) => is_yaml,
        Some(("mirror", name)) => matches!(name, "registries.conf" | "ca-bundle.crt"),
        Some(("openshift", name)) => is_yaml && !name.contains('/'),
        Some(_) => false,
    }
}

/// Whether a file has the wrong form, so that its content is not known.
pub fn is_unparsable(report: &Report) -> bool {
    let errors = report.findings().iter();
    let mut errors = errors.filter(|finding| finding.severity == Severity::Error);
    errors.any(|finding| FORM.contains(&finding.rule))
}

/// Manifests of the user: a file per document, numbered as the reference numbers them. What cannot be
/// used goes into reports.
pub fn extra_manifests(
    inputs: &BTreeMap<String, String>,
    reports: &mut Vec<Report>,
) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (path, text) in inputs {
        let Some(name) = path.strip_prefix("openshift/") else {
            continue;
        };
        let (base, ending) = name.rsplit_once('.').unwrap_or((name, "yaml"));
        let mut number = 0;
        let mut findings = Vec::new();
        for (start, document) in documents(text) {
            let value: serde_json::Value = match serde_yaml_ng::from_str(document) {
                Ok(value) => value,
                Err(cause) => {
                    let at = cause.location().map_or(0, |place| place.index());
                    let message = format!("this is not YAML: {cause}");
                    let help = "write one Kubernetes object per document";
                    findings.push(wrong_manifest(text, start + at, message, help));
                    continue;
                }
            };
            if value.is_null() {
                continue;
            }
            if !value["kind"].is_string() {
                let blank = document.len() - document.trim_start().len();
                let message = format!("document {} has no `kind`", number + 1);
                let help = "write a Kubernetes object: `apiVersion`, `kind`, `metadata`";
                findings.push(wrong_manifest(text, start + blank, message, help));
            }
            let mut text = document.to_owned();
            if !text.ends_with('\n') {
                text.push('\n');
            }
            files.insert(format!("{base}-{number}.{ending}"), text);
            number += 1;
        }
        if !findings.is_empty() {
            // A manifest may be a Secret: only the places are shown.
            let blotted = text.replace(|c: char| !c.is_ascii_whitespace() && c.is_ascii(), "*");
            reports.push(Report::new(path.as_str(), blotted, findings));
        }
    }
    files
}

fn wrong_manifest(text: &str, start: usize, message: String, help: &str) -> Finding {
    let start = start.min(text.len());
    Finding {
        severity: Severity::Error,
        rule: "manifest",
        path: String::new(),
        message,
        help: help.to_owned(),
        span: Span { start, end: start },
    }
}

/// The documents of a file, as they are written, and where each begins.
fn documents(text: &str) -> Vec<(usize, &str)> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            parts.push((start, &text[start..at]));
            start = at + line.len();
        }
        at += line.len();
    }
    parts.push((start, &text[start..]));
    parts
}
