//! From the bytes of a file to typed values, with everything that is wrong on the way.

use muster_model::MinorVersion;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Document,
    walk::{UnknownKeys, walk},
};
use crate::{
    findings::{Finding, Report, Severity},
    spanned_yaml::{Problem, Span, decode, mask, parse, parse_each},
    validation::{Diagnostics, Sheet},
};

/// Reads a file called `name`: gives what rules validate, where it stands, and where their diagnostics go.
pub(crate) fn read<T: DeserializeOwned>(
    document: &'static Document,
    name: &str,
    bytes: &[u8],
    unknown: UnknownKeys,
    release: Option<MinorVersion>,
) -> Result<(T, Sheet, Unfinished), Report> {
    let text = text_of(name, bytes)?;
    let parsed = parse(text);
    let mut draft = Unfinished::new(name);
    draft.add_text(parsed.problems, parsed.oddities);
    let Some(root) = parsed.root else {
        return Err(draft.nothing(document, text));
    };
    let mut walked = walk(document, &root, unknown, release);
    draft.findings.append(&mut walked.findings);
    draft.shown = mask(text, &walked.secrets);
    let sheet = Sheet::of(&mut walked);
    let value = draft.typed(walked.value)?;
    Ok((value, sheet, draft))
}

/// Reads a file of any number of documents, all of one form. Empty ones are left out.
pub(crate) fn read_each<T: DeserializeOwned>(
    document: &'static Document,
    name: &str,
    bytes: &[u8],
    unknown: UnknownKeys,
) -> Result<(Vec<(T, Sheet)>, Unfinished), Report> {
    let text = text_of(name, bytes)?;
    let mut draft = Unfinished::new(name);
    let (mut values, mut secrets) = (Vec::new(), Vec::new());
    for parsed in parse_each(text) {
        draft.add_text(parsed.problems, parsed.oddities);
        let Some(root) = parsed.root.filter(|root| !root.is_null()) else {
            continue;
        };
        let mut walked = walk(document, &root, unknown, None);
        draft.findings.append(&mut walked.findings);
        secrets.append(&mut walked.secrets);
        let sheet = Sheet::of(&mut walked);
        values.push((walked.value, sheet));
    }
    draft.shown = mask(text, &secrets);
    if values.is_empty() {
        return Err(draft.nothing(document, text));
    }
    let mut typed = Vec::with_capacity(values.len());
    for (value, sheet) in values {
        typed.push((draft.typed(value)?, sheet));
    }
    Ok((typed, draft))
}

fn text_of<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Report> {
    decode(bytes).map_err(|problem| {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]).into_owned();
        let shown = mask(&start, &[]);
        let findings = vec![Finding::of_text(problem, Severity::Error)];
        Report::new(name, shown, findings)
    })
}

/// A report that is not finished: only the form was looked at.
pub(crate) struct Unfinished {
    name: String,
    shown: String,
    findings: Vec<Finding>,
}

impl Unfinished {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            shown: String::new(),
            findings: Vec::new(),
        }
    }

    fn add_text(&mut self, problems: Vec<Problem>, oddities: Vec<Problem>) {
        let of_text = |severity| move |problem| Finding::of_text(problem, severity);
        let errors = problems.into_iter().map(of_text(Severity::Error));
        self.findings.extend(errors);
        let warnings = oddities.into_iter().map(of_text(Severity::Warning));
        self.findings.extend(warnings);
    }

    /// There is no document in the file.
    fn nothing(mut self, document: &Document, text: &str) -> Report {
        if self.findings.iter().all(|f| f.severity != Severity::Error) {
            let message = "there is nothing in the file".to_owned();
            self.findings.push(whole_file(message, document.fix));
        }
        Report::new(self.name, mask(text, &[]), self.findings)
    }

    fn typed<T: DeserializeOwned>(&mut self, value: Value) -> Result<T, Report> {
        serde_json::from_value(value).map_err(|cause| {
            // The schema and the types disagree; a test keeps that from happening.
            let message = format!("this file cannot be read: {cause}");
            let help = "please report this: the schema allows what the types do not";
            let mut findings = std::mem::take(&mut self.findings);
            findings.push(whole_file(message, help));
            Report::new(&*self.name, std::mem::take(&mut self.shown), findings)
        })
    }

    /// Adds what the rules say about one document of several.
    pub fn add(&mut self, sheet: &Sheet, diagnostics: Diagnostics) {
        self.findings.append(&mut sheet.findings(diagnostics));
    }

    /// The report so far.
    pub fn done(self) -> Report {
        Report::new(self.name, self.shown, self.findings)
    }

    /// The whole report, with what the rules say.
    pub fn finish(mut self, sheet: &Sheet, diagnostics: Diagnostics) -> Report {
        self.add(sheet, diagnostics);
        self.done()
    }
}

pub(crate) fn whole_file(message: String, help: &str) -> Finding {
    Finding {
        severity: Severity::Error,
        rule: "required",
        path: String::new(),
        message,
        help: help.to_owned(),
        span: Span::default(),
    }
}
