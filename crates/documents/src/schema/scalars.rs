//! Single values: what a text means for a kind of field, or why it means nothing.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Number, Value as Json};

use super::{
    Kind,
    wording::{one_of, shown},
};
use crate::{
    findings::nearest,
    spanned_yaml::{Node, Scalar, Value},
};

/// Why a text is no value of its field.
pub struct Misfit {
    pub rule: &'static str,
    pub message: String,
    pub help: String,
}

/// The value a text stands for.
pub fn typed(kind: &Kind, scalar: &Scalar) -> Result<Json, Misfit> {
    let text = &*scalar.text;
    match kind {
        Kind::Text | Kind::Secret => Ok(text.into()),
        Kind::OnlyText => {
            let other = scalar.as_bool().is_some()
                || scalar.as_int().is_some()
                || scalar.as_float().is_some();
            if other {
                return Err(wrong_kind(
                    kind,
                    scalar,
                    format!("put it in quotes: `'{text}'`"),
                ));
            }
            Ok(text.into())
        }
        Kind::Flag => {
            let help = || quoted_help(scalar, "write `true` or `false`, without quotes");
            let flag = scalar.as_bool().map(Json::Bool);
            flag.ok_or_else(|| wrong_kind(kind, scalar, help()))
        }
        Kind::Number(least, most) => match scalar.as_int() {
            Some(number) if (*least..=*most).contains(&number) => Ok(number.into()),
            Some(number) => Err(misfit(
                format!("{number} is out of bounds"),
                format!("write a number from {least} to {most}"),
            )),
            None => {
                let help = quoted_help(scalar, "write a whole number, without quotes");
                Err(wrong_kind(kind, scalar, help))
            }
        },
        Kind::Cidr => match text.parse::<IpNet>() {
            Ok(_) => Ok(text.into()),
            Err(_) => Err(misfit(
                format!("{} is not a network", shown(text)),
                cidr_help(text),
            )),
        },
        Kind::Ip => match text.parse::<IpAddr>() {
            // `::ffff:192.0.2.1` is another way to write 192.0.2.1.
            Ok(ip) => Ok(ip.to_canonical().to_string().into()),
            Err(_) => Err(misfit(
                format!("{} is not an IP address", shown(text)),
                ip_help(text),
            )),
        },
        Kind::Word(words) if words.contains(&text) => Ok(text.into()),
        Kind::Word(words) => Err(Misfit {
            rule: "allowed-word",
            message: format!("{} is none of the words it can be", shown(text)),
            help: match nearest(text, words.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? It can be {}", one_of(words)),
                None => format!("it can be {}", one_of(words)),
            },
        }),
        Kind::List(_) | Kind::Object(_) | Kind::Labels | Kind::Anything | Kind::Foreign => {
            Err(wrong_kind(kind, scalar, "write several values".to_owned()))
        }
    }
}

fn misfit(message: String, help: String) -> Misfit {
    Misfit {
        rule: "type",
        message,
        help,
    }
}

fn wrong_kind(kind: &Kind, scalar: &Scalar, help: String) -> Misfit {
    let message = format!(
        "this is {}, but must be: {}",
        scalar.kind(),
        kind.description()
    );
    misfit(message, help)
}

fn cidr_help(text: &str) -> String {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => format!("add the prefix, for example `{ip}/24`"),
        Ok(IpAddr::V6(ip)) => format!("add the prefix, for example `{ip}/64`"),
        Err(_) => "write a network such as `192.168.10.0/24`".to_owned(),
    }
}

fn ip_help(text: &str) -> String {
    match text.split_once('/') {
        Some((ip, _)) => format!("leave out the prefix: `{ip}`"),
        None => "write an address such as `192.168.10.5`, not a name".to_owned(),
    }
}

fn quoted_help(scalar: &Scalar, otherwise: &str) -> String {
    let unquoted = Scalar {
        text: scalar.text.clone(),
        plain: true,
    };
    if !scalar.plain && (unquoted.as_bool().is_some() || unquoted.as_int().is_some()) {
        format!("remove the quotes: {}", scalar.text)
    } else {
        otherwise.to_owned()
    }
}

/// A value whose form is defined elsewhere.
pub fn anything(node: &Node) -> Json {
    match &node.value {
        Value::Sequence(nodes) => nodes.iter().map(anything).collect(),
        Value::Mapping(entries) => entries
            .iter()
            .map(|entry| (entry.key.clone(), anything(&entry.value)))
            .collect(),
        Value::Scalar(scalar) if scalar.is_null() => Json::Null,
        Value::Scalar(scalar) => {
            if let Some(flag) = scalar.as_bool() {
                Json::Bool(flag)
            } else if let Some(number) = scalar.as_int() {
                number.into()
            } else {
                let number = scalar.as_float().and_then(Number::from_f64);
                number.map_or_else(|| Json::String(scalar.text.clone()), Json::Number)
            }
        }
    }
}
