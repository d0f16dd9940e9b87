//! Closed lists of names as enums: one line per variant gives text, parsing and serde.
//!
//! Every list of this crate is fixed by the wire contract, so a name that is not on it is an
//! error that shows the whole list.

/// A text that is not on the list of names it was looked up in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {given:?}; use one of: {}", known.join(", "))]
pub struct UnknownName {
    /// What the list is about, such as "operator".
    pub what: &'static str,
    /// The text that was given.
    pub given: String,
    /// Every accepted name.
    pub known: Vec<&'static str>,
}

/// Declares an enum whose variants are wire names; `| "alias"` adds accepted spellings.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident: $what:literal {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal $(| $alias:literal)*,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $name {
            /// Every variant, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::names::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text $(| $alias)* => Ok(Self::$variant),)+
                    _ => Err($crate::names::UnknownName {
                        what: $what,
                        given: text.to_owned(),
                        known: Self::ALL.iter().map(|name| name.as_str()).collect(),
                    }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use named;
