//! One macro for enums whose variants have fixed wire names.
//!
//! The wire name is written once; parsing, printing and serde follow from it, so they cannot
//! drift apart.

/// Declares an enum with wire names, `as_str`, `ALL`, `Display`, `FromStr` and serde forms.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every variant, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name clients know it by.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
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
                    $($text => Ok(Self::$variant),)+
                    _ => Err($crate::names::UnknownName { kind: stringify!($name), text: text.to_owned() }),
                }
            }
        }
    };
}
pub(crate) use named;

/// A text that names no variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// Which enum was asked.
    pub kind: &'static str,
    /// What was given.
    pub text: String,
}

impl std::fmt::Display for UnknownName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is not a known {}", self.text, self.kind)
    }
}

impl std::error::Error for UnknownName {}
