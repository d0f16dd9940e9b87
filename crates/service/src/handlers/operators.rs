//! Operators: which can be selected, and the status of the selected ones.

use http::{StatusCode, header};
use muster_api::wire;
use muster_app::{aggregate::Cause, operators};
use muster_catalog::{Bundle, BundleId, Feature, Operator};
use muster_engine::operators::OperatorReport;

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
    views,
};

/// `GET /v2/supported-operators`.
pub async fn list_supported(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    let names: Vec<&str> = Operator::ALL
        .iter()
        .map(|operator| operator.as_str())
        .collect();
    Reply::json(StatusCode::OK, &names)
}

/// `GET /v2/supported-operators/{operator_name}`: none has settings, but the name must exist.
pub async fn properties(_app: Shared, call: Call) -> Result<Reply, Failure> {
    let name = call.args.text("operator_name").unwrap_or_default();
    match name.parse::<Operator>() {
        Ok(_) => Reply::json(StatusCode::OK, &wire::OperatorProperties::new()),
        // The reference sends no body here, and its clients expect none.
        Err(_) => Ok(
            Reply::empty(StatusCode::NOT_FOUND).header(header::CONTENT_TYPE, "application/json")
        ),
    }
}

/// `GET /v2/operators/bundles`.
pub async fn list_bundles(_app: Shared, call: Call) -> Result<Reply, Failure> {
    let features = chosen_features(&call);
    let single_node = features.contains(&Feature::Sno);
    let version = call
        .args
        .text("openshift_version")
        .filter(|text| !text.is_empty());
    let bundles = match version {
        None => Bundle::all(single_node),
        Some(_) => Bundle::available(&super::features::query(&call), &features)
            .map_err(|refusal| Failure::bad_request(refusal.to_string()))?,
    };
    let shown: Vec<wire::Bundle> = bundles
        .iter()
        .map(|bundle| bundle_view(bundle, version.is_some()))
        .collect();
    Reply::json(StatusCode::OK, &shown)
}

/// `GET /v2/operators/bundles/{id}`.
pub async fn get_bundle(_app: Shared, call: Call) -> Result<Reply, Failure> {
    let id = call.args.text("id").unwrap_or_default();
    let bundle = id.parse::<BundleId>().map_err(|_| {
        let known: Vec<&str> = BundleId::ALL.iter().map(|bundle| bundle.as_str()).collect();
        Failure::not_found(format!(
            "there is no bundle {id}; there are {}",
            known.join(" and ")
        ))
    })?;
    let single_node = chosen_features(&call).contains(&Feature::Sno);
    Reply::json(
        StatusCode::OK,
        &bundle_view(&bundle.bundle(single_node), true),
    )
}

fn chosen_features(call: &Call) -> Vec<Feature> {
    call.args
        .list("feature_ids")
        .iter()
        .filter_map(|id| id.parse().ok())
        .collect()
}

fn bundle_view(bundle: &Bundle, filtered: bool) -> wire::Bundle {
    let names = |operators: &[Operator]| -> Vec<String> {
        operators.iter().map(ToString::to_string).collect()
    };
    let optional = names(&bundle.optional_operators);
    wire::Bundle {
        id: Some(bundle.id.to_string()),
        title: Some(bundle.title.to_string()),
        description: Some(bundle.description.to_string()),
        operators: Some(names(&bundle.operators)),
        optional_operators: (filtered || !optional.is_empty()).then_some(optional),
    }
}

/// `GET /v2/clusters/{cluster_id}/monitored-operators`.
pub async fn monitored(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.store.cluster(call.cluster_id()).await?;
    let name = call
        .args
        .text("operator_name")
        .filter(|name| !name.is_empty());
    let list: Vec<wire::MonitoredOperator> = cluster
        .iter()
        .flat_map(|cluster| {
            let operators = cluster.monitored_operators.iter().flatten();
            operators
                .filter(|one| name.is_none_or(|name| one.name == name))
                .map(|one| views::operator(cluster, one))
        })
        .collect();
    match name {
        Some(name) if list.is_empty() => Err(Failure::not_found(format!(
            "operator {name} is not watched in this cluster"
        ))),
        _ => Reply::json(StatusCode::OK, &list),
    }
}

/// `PUT /v2/clusters/{cluster_id}/monitored-operators`.
pub async fn report(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::OperatorMonitorReport = call.body()?;
    let report = OperatorReport {
        name: body.name.unwrap_or_default(),
        status: body.status.unwrap_or_default(),
        status_info: body.status_info,
        version: body.version,
    };
    operators::report(&app, call.cluster_id(), &report, &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::OK))
}
