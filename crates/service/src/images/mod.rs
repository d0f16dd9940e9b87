//! Boot images over HTTP.
//!
//! `muster_boot_images` keeps the OS images and composes boot images from them, `muster_app::images` has
//! them downloaded and composed; here requests ([`route`]) are answered ([`serve`]) with parts of
//! images ([`ranges`], [`send`]), or with the state of an OS image that is [`absent`].
//! Administrators bring OS images in and take them out ([`change`]).

mod absent;
mod change;
pub mod ranges;
pub mod route;
mod send;
pub mod serve;
