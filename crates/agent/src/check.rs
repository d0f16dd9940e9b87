//! `muster-agent check`: what would this machine be judged as, and why?
