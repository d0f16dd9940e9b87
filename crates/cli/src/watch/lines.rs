//! From messages to lines: what is different from before, for people.

use std::collections::HashMap;

use muster_api::client::printable;
use serde_json::Value;

/// Remembers what was shown, so that only differences are.
#[derive(Debug, Default)]
pub struct Lines {
    shown: HashMap<String, Shown>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shown {
    name: String,
    status: String,
    info: String,
    stage: String,
    percent: i64,
}

impl Lines {
    /// The lines a message is worth; none if it changes nothing that a line shows.
    pub fn of(&mut self, kind: &str, body: &Value) -> Vec<String> {
        let lines = self.lines(kind, body);
        lines.iter().map(|line| printable(line)).collect()
    }

    fn lines(&mut self, kind: &str, body: &Value) -> Vec<String> {
        match kind {
            "cluster" => self.object("cluster", body),
            "host" => self.object("host", body),
            "event" => vec![format!(
                "{}  event    {:8}  {}",
                clock(text(body, "event_time")),
                text(body, "severity"),
                text(body, "message")
            )],
            "deleted" => {
                let id = text(body, "id");
                let name = self.shown.remove(id).map(|shown| shown.name);
                let kind = text(body, "kind");
                vec![format!(
                    "--:--:--  {kind:7}  {}  gone",
                    name.as_deref().unwrap_or(id)
                )]
            }
            "sync" => vec![format!(
                "--:--:--  {} objects; live updates follow",
                body["objects"]
            )],
            "reset" => vec![format!("--:--:--  {}", text(body, "reason"))],
            _ => Vec::new(),
        }
    }

    fn object(&mut self, kind: &str, body: &Value) -> Vec<String> {
        let progress = &body["progress"];
        let now = Shown {
            name: first(body, &["name", "requested_hostname", "id"]).to_owned(),
            status: text(body, "status").to_owned(),
            info: text(body, "status_info").to_owned(),
            stage: first(progress, &["current_stage", "finalizing_stage"]).to_owned(),
            percent: ["total_percentage", "installation_percentage"]
                .iter()
                .find_map(|key| progress[*key].as_i64())
                .unwrap_or(0),
        };
        let before = self.shown.insert(text(body, "id").to_owned(), now.clone());
        if before.as_ref() == Some(&now) {
            return Vec::new();
        }
        let status = match &before {
            Some(before) if before.status != now.status => {
                format!("{} → {}", before.status, now.status)
            }
            _ => now.status.clone(),
        };
        let mut line = format!(
            "{}  {kind:7}  {}  {status}",
            clock(text(body, "updated_at")),
            now.name
        );
        if !now.stage.is_empty() || now.percent > 0 {
            line.push_str(&format!("  {} {} %", now.stage, now.percent));
        }
        if before.is_none_or(|before| before.info != now.info) && !now.info.is_empty() {
            line.push_str("  ");
            line.push_str(&now.info);
        }
        vec![line]
    }
}

fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key].as_str().unwrap_or("")
}

fn first<'a>(body: &'a Value, keys: &[&str]) -> &'a str {
    let mut texts = keys.iter().map(|key| text(body, key));
    texts.find(|text| !text.is_empty()).unwrap_or("")
}

/// The time of day in a date-time.
fn clock(moment: &str) -> &str {
    moment.get(11..19).unwrap_or("--:--:--")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_of_status_shows_both_and_no_change_shows_nothing() {
        let mut lines = Lines::default();
        let mut body = json!({"id": "1", "name": "steel", "status": "ready", "status_info": "fine",
                              "updated_at": "2026-01-02T03:04:05.678Z"});
        assert_eq!(
            lines.of("cluster", &body),
            ["03:04:05  cluster  steel  ready  fine"]
        );
        assert!(lines.of("cluster", &body).is_empty());
        body["status"] = json!("installing");
        body["progress"] = json!({"total_percentage": 7});
        assert_eq!(
            lines.of("cluster", &body),
            ["03:04:05  cluster  steel  ready → installing   7 %"]
        );
    }

    #[test]
    fn what_is_gone_is_named_as_it_was_known() {
        let mut lines = Lines::default();
        lines.of(
            "host",
            &json!({"id": "9", "requested_hostname": "node-9", "status": "known"}),
        );
        let gone = lines.of("deleted", &json!({"kind": "host", "id": "9"}));
        assert_eq!(gone, ["--:--:--  host     node-9  gone"]);
    }

    #[test]
    fn a_host_with_a_hostile_name_takes_one_harmless_line() {
        let body = json!({"id": "1", "requested_hostname": "\u{1b}[2Jnode\nevent  forged",
                          "status": "known"});
        let shown = Lines::default().of("host", &body);
        assert_eq!(shown.len(), 1);
        assert!(!shown[0].contains(char::is_control), "{shown:?}");
    }

    #[test]
    fn messages_of_the_future_are_passed_over() {
        assert!(Lines::default().of("weather", &json!({})).is_empty());
    }
}
