//! Tests of the scripts.
