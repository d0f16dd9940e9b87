//! The ways a request can carry credentials.

use crate::names::named;

named! {
    /// A carrier of credentials, by the name the API contract gives it.
    Scheme {
        /// A person or tool: header `Authorization`.
        User = "userAuth",
        /// A machine being installed: header `X-Secret-Key`.
        Agent = "agentAuth",
        /// A signed link: query `api_key`.
        Url = "urlAuth",
        /// The image service: header `Image-Token`.
        Image = "imageAuth",
        /// A signed image link: query `image_token`.
        ImageUrl = "imageURLAuth",
        /// A read-only observer: header `Watcher-Authorization`.
        Watcher = "watcherAuth",
    }
}
