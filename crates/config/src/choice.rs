//! Settings that are one word out of a few.

/// Declares an enum whose variants are words of the configuration.
macro_rules! choice {
    ($(#[$doc:meta])* pub enum $name:ident {
        $( $(#[$note:meta])* $variant:ident = $word:literal $(| $alias:literal)* ),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$note])* $variant, )+ }

        impl $name {
            /// The word that stands for it in the configuration.
            pub const fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl $crate::kinds::Parse for $name {
            const KIND: &'static str = concat!("one of", $( " `", $word, "`", )+);

            fn parse(text: &str) -> Result<Self, $crate::errors::ValueError> {
                match text {
                    $( $word $(| $alias)* => Ok(Self::$variant), )+
                    "" => Err($crate::errors::ValueError::Empty),
                    _ => Err($crate::errors::ValueError::UnknownChoice),
                }
            }

            fn show(&self) -> String {
                self.word().into()
            }
        }
    };
}

pub(crate) use choice;
