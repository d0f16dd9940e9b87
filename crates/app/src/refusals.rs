//! Which limit refused a request, a connection or an upload.
//!
//! One counter with one label, so that an alert on "a limit is being hit" is one line and its
//! cause is in the label. Client errors (a bad body, a wrong token) are not counted here: they
//! are in `http_request_duration_seconds` by status code.

/// A limit that protects the service or its other callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Mode `none` serves this machine only, and the request named another host or came through
    /// a proxy.
    ForeignHost,
    /// The body is larger than the operation accepts.
    BodyTooLarge,
    /// The infra-env has as many hosts as it may have.
    HostQuota,
    /// Too many new hosts register in one infra-env.
    HostRate,
    /// Too many new hosts register from one address.
    HostRateOfAddress,
    /// Too many events of one token, host or cluster.
    EventRate,
    /// Too many events are posted from one address.
    EventRateOfAddress,
    /// The events of an infra-env or cluster have used up their room.
    EventQuota,
    /// The logs of a cluster have used up their room.
    LogQuota,
    /// An upload would leave too little room on the disk.
    DiskFull,
    /// All places for watchers, or all of this caller, are taken.
    WatchPlaces,
    /// A boot artifact was asked for that no infra-env boots and that is not there.
    UnusedImage,
    /// An image for an anonymous request would have replaced another one.
    ImageCacheFull,
    /// Too many logins failed from one address or under one name.
    LoginRate,
    /// Too many logins are being checked.
    LoginQueue,
    /// The disk of the database had no room for a write.
    DatabaseFull,
    /// The disk of the file store had no room for a file.
    FileStoreFull,
    /// The clock jumped, so a round of housekeeping deleted nothing.
    ClockJump,
    /// A JSON body or the output of a step has more values than are parsed.
    TooManyValues,
    /// All memory for request bodies was in use for too long.
    BodiesInFlight,
    /// The file of an upload is larger than `server.max_upload_bytes`.
    UploadTooLarge,
    /// A form has too much in it that is not the file.
    FormTooLarge,
    /// An upload arrived too slowly.
    UploadTooSlow,
    /// All places for uploads were in use for too long.
    UploadsInFlight,
    /// The headers of a request are too large.
    HeadersTooLarge,
    /// An address has all the connections it may have, each with a request in progress.
    ConnectionsOfAddress,
    /// A connection without a request in progress was closed to make room for a new one.
    ConnectionEvicted,
    /// The first request of a connection did not arrive in time.
    SilentConnection,
}

impl Refusal {
    /// Every reason, so that each is on the metrics page from the start.
    pub const ALL: &'static [Self] = &[
        Self::ForeignHost,
        Self::BodyTooLarge,
        Self::HostQuota,
        Self::HostRate,
        Self::HostRateOfAddress,
        Self::EventRate,
        Self::EventRateOfAddress,
        Self::EventQuota,
        Self::LogQuota,
        Self::DiskFull,
        Self::WatchPlaces,
        Self::UnusedImage,
        Self::ImageCacheFull,
        Self::LoginRate,
        Self::LoginQueue,
        Self::DatabaseFull,
        Self::FileStoreFull,
        Self::ClockJump,
        Self::TooManyValues,
        Self::BodiesInFlight,
        Self::UploadTooLarge,
        Self::FormTooLarge,
        Self::UploadTooSlow,
        Self::UploadsInFlight,
        Self::HeadersTooLarge,
        Self::ConnectionsOfAddress,
        Self::ConnectionEvicted,
        Self::SilentConnection,
    ];

    /// The value of the label `reason`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::ForeignHost => "foreign_host",
            Self::BodyTooLarge => "body_too_large",
            Self::HostQuota => "host_quota",
            Self::HostRate => "host_rate",
            Self::HostRateOfAddress => "host_rate_of_address",
            Self::EventRate => "event_rate",
            Self::EventRateOfAddress => "event_rate_of_address",
            Self::EventQuota => "event_quota",
            Self::LogQuota => "log_quota",
            Self::DiskFull => "disk_full",
            Self::WatchPlaces => "watch_places",
            Self::UnusedImage => "unused_image",
            Self::ImageCacheFull => "image_cache_full",
            Self::LoginRate => "login_rate",
            Self::LoginQueue => "login_queue",
            Self::DatabaseFull => "database_full",
            Self::FileStoreFull => "file_store_full",
            Self::ClockJump => "clock_jump",
            Self::TooManyValues => "too_many_values",
            Self::BodiesInFlight => "bodies_in_flight",
            Self::UploadTooLarge => "upload_too_large",
            Self::FormTooLarge => "form_too_large",
            Self::UploadTooSlow => "upload_too_slow",
            Self::UploadsInFlight => "uploads_in_flight",
            Self::HeadersTooLarge => "headers_too_large",
            Self::ConnectionsOfAddress => "connections_of_address",
            Self::ConnectionEvicted => "connection_evicted",
            Self::SilentConnection => "silent_connection",
        }
    }
}
