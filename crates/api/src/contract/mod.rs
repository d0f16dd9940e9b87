//! The contract at run time: parsed once, then asked by the router, the binder and the
//! published documents. Start at [`contract`].

mod operation;
mod route;
mod schema;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

pub use operation::{BYTES, Body, Call, JSON, ListForm, MULTIPART, Operation, Parameter, Place};
pub use route::{PathParams, RouteMiss};
pub(crate) use schema::pascal;
pub use schema::{Definitions, Kind, Schema};

use route::Router;

/// Everything the API promises.
#[derive(Debug)]
pub struct Contract {
    operations: Vec<Operation>,
    definitions: Definitions,
    by_id: HashMap<String, usize>,
    router: Router,
}

/// The embedded form, made by `build.rs`.
#[derive(Deserialize)]
struct Embedded {
    operations: Vec<Operation>,
    definitions: Definitions,
}

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let embedded = serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/contract.json")))
        .expect("the contract is read by every test of this crate, so it parses");
    Contract::new(embedded)
});

/// The contract of this build.
#[must_use]
pub fn contract() -> &'static Contract {
    &CONTRACT
}

impl Contract {
    fn new(embedded: Embedded) -> Self {
        let Embedded {
            mut operations,
            definitions,
        } = embedded;
        for operation in &mut operations {
            // Violations are reported in this order.
            operation
                .parameters
                .sort_by(|one, other| one.name.cmp(&other.name));
        }
        let by_id = operations
            .iter()
            .enumerate()
            .map(|(at, op)| (op.id.clone(), at))
            .collect();
        let router = Router::new(&operations);
        Self {
            operations,
            definitions,
            by_id,
            router,
        }
    }

    /// Every operation, grouped by noun.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Every definition by name.
    #[must_use]
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The operation with this id.
    #[must_use]
    pub fn operation(&self, id: &str) -> Option<&Operation> {
        self.by_id.get(id).map(|at| &self.operations[*at])
    }
}
