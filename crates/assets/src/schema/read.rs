//! From the bytes of a file to typed values, with everything that is wrong on the way.

use serde::de::DeserializeOwned;

use super::{
    Document, Release,
    walk::{UnknownKeys, walk},
};
use crate::{
    findings::{Finding, Report, Severity},
    judging::{Sheet, Verdicts},
    spanned_yaml::{Span, decode, mask, parse},
};

/// Reads a file called `name`: gives what rules judge, where it stands, and where their verdict goes.
pub(crate) fn read<T: DeserializeOwned>(
    document: &'static Document,
    name: &str,
    bytes: &[u8],
    unknown: UnknownKeys,
    release: Option<Release>,
) -> Result<(T, Sheet, Unfinished), Report> {
    let text = decode(bytes).map_err(|problem| {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]).into_owned();
        let shown = mask(&start, &[]);
        let findings = vec![Finding::of_text(problem, Severity::Error)];
        Report::new(name, shown, findings)
    })?;
    let parsed = parse(text);
    let mut findings: Vec<Finding> = Vec::new();
    let of_text = |severity| move |problem| Finding::of_text(problem, severity);
    findings.extend(parsed.problems.into_iter().map(of_text(Severity::Error)));
    findings.extend(parsed.oddities.into_iter().map(of_text(Severity::Warning)));
    let Some(root) = parsed.root else {
        if findings.iter().all(|f| f.severity != Severity::Error) {
            let message = "there is nothing in the file".to_owned();
            findings.push(whole_file(message, document.remedy));
        }
        return Err(Report::new(name, mask(text, &[]), findings));
    };

    let mut walked = walk(document, &root, unknown, release);
    findings.append(&mut walked.findings);
    let shown = mask(text, &walked.secrets);
    let sheet = Sheet::of(&mut walked);
    match serde_json::from_value(walked.value) {
        Ok(value) => {
            let name = name.to_owned();
            let draft = Unfinished {
                name,
                shown,
                findings,
            };
            Ok((value, sheet, draft))
        }
        // The schema and the types disagree; a test keeps that from happening.
        Err(cause) => {
            let message = format!("this file cannot be read: {cause}");
            let help = "please report this: the schema allows what the types do not";
            findings.push(whole_file(message, help));
            Err(Report::new(name, shown, findings))
        }
    }
}

/// A report that is not finished: only the form was looked at.
pub(crate) struct Unfinished {
    name: String,
    shown: String,
    findings: Vec<Finding>,
}

impl Unfinished {
    /// The whole report, with what the rules say.
    pub fn finish(mut self, sheet: &Sheet, verdicts: Verdicts) -> Report {
        self.findings.append(&mut sheet.findings(verdicts));
        Report::new(self.name, self.shown, self.findings)
    }
}

fn whole_file(message: String, help: &str) -> Finding {
    Finding {
        severity: Severity::Error,
        rule: "required",
        path: String::new(),
        message,
        help: help.to_owned(),
        span: Span::default(),
    }
}
