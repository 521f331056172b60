//! Scenarios read from files, right and wrong ones, and what the documents say of them.

mod bad;
mod documents;
mod published;
mod read;
