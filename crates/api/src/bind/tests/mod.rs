//! Every rule of the binder, with the messages a client would read.

mod anything;
mod bodies;
mod parameters;
mod speed;

use http::{HeaderMap, HeaderValue, header};

use super::{Bound, Given, UnknownMembers, bind};
use crate::contract::{PathParams, contract};

const ID: &str = "7d9d8a4e-0000-4000-8000-00c0ffee0000";

/// A request to one operation; the defaults are those of a well-behaved client.
struct Request {
    id: &'static str,
    path: PathParams,
    query: Option<&'static str>,
    headers: HeaderMap,
    content_type: Option<&'static str>,
    body: Option<Vec<u8>>,
    unknown: UnknownMembers,
}

/// A request with good ids in its path and no body.
fn request(id: &'static str) -> Request {
    let names = ["cluster_id", "infra_env_id", "host_id"];
    Request {
        id,
        path: names.into_iter().map(|name| (name, ID)).collect(),
        query: None,
        headers: HeaderMap::new(),
        content_type: Some("application/json"),
        body: None,
        unknown: UnknownMembers::Refused,
    }
}

impl Request {
    fn path(mut self, name: &str, value: &str) -> Self {
        self.path = [(name, value)].into_iter().collect();
        self
    }

    fn query(mut self, query: &'static str) -> Self {
        self.query = Some(query);
        self
    }

    fn header(mut self, name: &'static str, value: &'static [u8]) -> Self {
        self.headers
            .append(name, HeaderValue::from_bytes(value).unwrap());
        self
    }

    fn accept(self, value: &'static str) -> Self {
        self.header(header::ACCEPT.as_str(), value.as_bytes())
    }

    fn content_type(mut self, content_type: Option<&'static str>) -> Self {
        self.content_type = content_type;
        self
    }

    fn lenient(mut self) -> Self {
        self.unknown = UnknownMembers::Dropped;
        self
    }

    fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    fn bind(&self) -> Result<Bound, String> {
        let operation = contract().operation(self.id).unwrap();
        let body = self.body.as_deref();
        let given = Given {
            path: &self.path,
            query: self.query,
            headers: &self.headers,
            content_type: self.content_type,
            body,
            unknown: self.unknown,
        };
        bind(operation, &given).map_err(|violation| violation.to_string())
    }

    fn refusal(&self) -> String {
        match self.bind() {
            Ok(bound) => panic!(
                "{} was accepted: {:?} {:?}",
                self.id, bound.args, bound.body
            ),
            Err(message) => message,
        }
    }
}
