//! CoreOS live images: inspecting and customizing them without copying.
//!
//! An image is opened as [`iso9660::Iso`]; whatever is made of it is a [`View`], a list of
//! ranges that can be read, streamed and named without being written anywhere.

pub mod config_iso;
pub mod customize;
pub mod edit;
pub mod embed;
pub mod error;
pub mod initrd;
pub mod iso9660;
pub mod kargs;
pub mod live;
pub mod minimal;
pub mod miniso;
pub mod partition;
pub mod pxe;
pub mod view;

pub use customize::Customization;
pub use error::{Error, Result};
pub use iso9660::Iso;
pub use view::{Source, View};
