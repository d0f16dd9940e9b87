//! Which certificate signing requests are approved: those of kubelets on hosts that the service
//! knows, and no others.
//!
//! A new kubelet asks twice. First with the bootstrap credentials that all machines share, for a
//! client certificate that makes it a node; then as that node, for a serving certificate with its
//! names and addresses. The credentials prove little, so name and addresses must be those of a
//! host in the inventory, and a node that exists gets no second client certificate.

use std::{collections::BTreeSet, net::IpAddr};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use x509_parser::{
    certification_request::X509CertificationRequest,
    cri_attributes::ParsedCriAttribute,
    extensions::{GeneralName, ParsedExtension},
    oid_registry::{OID_PKCS9_EXTENSION_REQUEST, OID_X509_EXT_SUBJECT_ALT_NAME},
    pem::Pem,
    prelude::FromDer,
};

use crate::{
    hosts::Host,
    kube::{items, text},
};

const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const NODES: &str = "system:nodes";

/// What to do with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Approve it; for this node.
    Approve(String),
    /// It is answered already, or for other signers: not our business.
    Skip,
    /// Leave it to a person, for this reason.
    Leave(String),
}

/// Decides about one request. `nodes` are the names of nodes that exist.
#[must_use]
pub fn answer(request: &Value, hosts: &[Host], nodes: &BTreeSet<String>) -> Answer {
    let answered = items(request, "/status/conditions").any(|condition| {
        let kind = text(condition, "/type");
        ["Approved", "Denied", "Failed"].contains(&kind)
    });
    let signer = text(request, "/spec/signerName");
    if answered || ![CLIENT, SERVING].contains(&signer) {
        return Answer::Skip;
    }
    match check(request, signer, hosts, nodes) {
        Ok(node) => Answer::Approve(node),
        Err(reason) => Answer::Leave(reason),
    }
}

/// What a pending request of a kubelet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// To become a node.
    Client,
    /// To be called as a node.
    Serving,
}

/// The node that an unanswered request is for, and its purpose.
#[must_use]
pub fn pending(request: &Value) -> Option<(String, Purpose)> {
    if items(request, "/status/conditions").next().is_some() {
        return None;
    }
    asked(request)
}

/// The node that a request is or was for, and its purpose.
#[must_use]
pub fn asked(request: &Value) -> Option<(String, Purpose)> {
    let purpose = match text(request, "/spec/signerName") {
        CLIENT => Purpose::Client,
        SERVING => Purpose::Serving,
        _ => return None,
    };
    let wanted = Wanted::read(text(request, "/spec/request")).ok()?;
    let name = wanted.common_name.strip_prefix("system:node:")?;
    Some((name.to_owned(), purpose))
}

/// Adds the approval to a request that has not changed its meaning since it was checked.
pub fn approve(request: &mut Value, now: &str) {
    let condition = json!({
        "type": "Approved",
        "status": "True",
        "reason": "NodeCSRApprove",
        "message": "The request comes from a host of this installation",
        "lastUpdateTime": now,
    });
    let status = &mut request["status"];
    match status.get_mut("conditions").and_then(Value::as_array_mut) {
        Some(conditions) => conditions.push(condition),
        None => status["conditions"] = json!([condition]),
    }
}

fn check(
    request: &Value,
    signer: &str,
    hosts: &[Host],
    nodes: &BTreeSet<String>,
) -> Result<String, String> {
    let wanted = Wanted::read(text(request, "/spec/request"))?;
    let name = wanted
        .common_name
        .strip_prefix("system:node:")
        .ok_or_else(|| format!("the subject {:?} is not a node", wanted.common_name))?;
    if wanted.organizations != [NODES] {
        return Err(format!(
            "the groups {:?} are not those of a node",
            wanted.organizations
        ));
    }
    let usages: Vec<&str> = items(request, "/spec/usages")
        .filter_map(Value::as_str)
        .collect();
    let purpose = match signer {
        CLIENT => "client auth",
        _ => "server auth",
    };
    let allowed = ["digital signature", "key encipherment", purpose];
    if !usages.contains(&purpose) || usages.iter().any(|usage| !allowed.contains(usage)) {
        return Err(format!("the usages {usages:?} are not those of a kubelet"));
    }
    let lower = name.to_lowercase();
    let host = hosts
        .iter()
        .find(|host| host.names.contains(&lower))
        .ok_or_else(|| format!("no host of this cluster has the name {name:?}"))?;
    let requester = text(request, "/spec/username");
    if signer == CLIENT {
        if requester != BOOTSTRAPPER {
            return Err(format!("{requester:?} may not ask for new nodes"));
        }
        if !(wanted.names.is_empty() && wanted.addresses.is_empty()) {
            return Err("a client certificate has no alternative names".to_owned());
        }
        if nodes.contains(name) {
            return Err(format!("node {name:?} exists already"));
        }
        return Ok(name.to_owned());
    }
    let in_group = items(request, "/spec/groups").any(|group| group == NODES);
    if requester != wanted.common_name || !in_group {
        return Err(format!("{requester:?} asks for node {name:?}"));
    }
    if wanted.names.is_empty() && wanted.addresses.is_empty() {
        return Err("a serving certificate needs names or addresses".to_owned());
    }
    for one in &wanted.names {
        if !host.names.contains(&one.to_lowercase()) {
            return Err(format!("{one:?} is not a name of host {name:?}"));
        }
    }
    for one in &wanted.addresses {
        if !host.addresses.contains(one) {
            return Err(format!("{one} is not an address of host {name:?}"));
        }
    }
    Ok(name.to_owned())
}

/// What the certificate is asked to say.
#[derive(Debug, Default)]
struct Wanted {
    common_name: String,
    organizations: Vec<String>,
    names: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl Wanted {
    /// From base64 of PEM. Everything must be understood: what cannot be read could say anything.
    fn read(encoded: &str) -> Result<Self, String> {
        let malformed = || "it holds no certificate signing request".to_owned();
        let pem = STANDARD.decode(encoded).map_err(|_| malformed())?;
        let mut blocks = Pem::iter_from_buffer(&pem);
        let block = blocks.next().and_then(Result::ok).ok_or_else(malformed)?;
        if block.label != "CERTIFICATE REQUEST" || blocks.next().is_some() {
            return Err(malformed());
        }
        let (rest, parsed) =
            X509CertificationRequest::from_der(&block.contents).map_err(|_| malformed())?;
        if !rest.is_empty() {
            return Err(malformed());
        }
        let info = &parsed.certification_request_info;
        let mut wanted = Self::default();
        let mut common_names = 0;
        for part in info.subject.iter_attributes() {
            let value = part.as_str().map_err(|_| malformed())?.to_owned();
            let kind = part.attr_type().to_id_string();
            match kind.as_str() {
                "2.5.4.3" => {
                    common_names += 1;
                    wanted.common_name = value;
                }
                "2.5.4.10" => wanted.organizations.push(value),
                _ => return Err(format!("the subject has a part of type {kind}")),
            }
        }
        if common_names != 1 {
            return Err("the subject has not exactly one common name".to_owned());
        }
        let mut lists = 0;
        for attribute in info.iter_attributes() {
            if attribute.oid != OID_PKCS9_EXTENSION_REQUEST {
                continue;
            }
            lists += 1;
            let ParsedCriAttribute::ExtensionRequest(requested) = attribute.parsed_attribute()
            else {
                return Err(malformed());
            };
            for extension in &requested.extensions {
                if extension.oid != OID_X509_EXT_SUBJECT_ALT_NAME {
                    continue;
                }
                let ParsedExtension::SubjectAlternativeName(list) = extension.parsed_extension()
                else {
                    return Err(malformed());
                };
                for name in &list.general_names {
                    wanted.add(name)?;
                }
            }
        }
        match lists {
            0 | 1 => Ok(wanted),
            _ => Err(malformed()),
        }
    }

    fn add(&mut self, name: &GeneralName<'_>) -> Result<(), String> {
        match name {
            GeneralName::DNSName(name) => self.names.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => {
                let address = match (<[u8; 4]>::try_from(*bytes), <[u8; 16]>::try_from(*bytes)) {
                    (Ok(four), _) => IpAddr::from(four),
                    (_, Ok(sixteen)) => IpAddr::from(sixteen),
                    _ => return Err("an address has neither 4 nor 16 bytes".to_owned()),
                };
                self.addresses.push(address);
            }
            other => return Err(format!("kubelets have no names like {other}")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
