//! `report.json`: which stage took how long, and what came of it.

use jiff::Timestamp;
use serde_json::{Value, json};

/// The report of one run.
pub struct Report {
    began: Timestamp,
    stages: Vec<Value>,
    ended: Option<(Timestamp, Value)>,
}

impl Report {
    pub fn begin() -> Self {
        Self {
            began: Timestamp::now(),
            stages: Vec::new(),
            ended: None,
        }
    }

    /// A stage begins, and the one before it is over.
    pub fn stage(&mut self, id: &str, description: &str) {
        let now = Timestamp::now().to_string();
        self.close(&now);
        self.stages
            .push(json!({"id": id, "description": description, "start_time": now}));
    }

    /// What the present stage found, as text.
    pub fn result(&mut self, result: Value) {
        if let Some(stage) = self.stages.last_mut() {
            stage["result"] = json!(result.to_string());
        }
    }

    /// The run is over.
    pub fn end(&mut self, error: Option<&anyhow::Error>) {
        let now = Timestamp::now();
        self.close(&now.to_string());
        let result = match error {
            None => json!({"exit_code": 0}),
            Some(error) => json!({"exit_code": 1, "error_message": format!("{error:#}")}),
        };
        self.ended = Some((now, result));
    }

    fn close(&mut self, now: &str) {
        if let Some(stage) = self.stages.last_mut() {
            stage["end_time"] = json!(now);
        }
    }

    pub fn text(&self) -> String {
        let mut report = json!({
            "id": format!("report-addnodes-{}", self.began.strftime("%Y%m%d%H%M")),
            "start_time": self.began.to_string(),
            "stages": self.stages,
        });
        if let Some((time, result)) = &self.ended {
            report["end_time"] = json!(time.to_string());
            report["result"] = result.clone();
        }
        format!("{report:#}\n")
    }
}
