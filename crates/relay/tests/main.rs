//! The programs as a user runs them, on cables and buses of network namespaces; and what the documents
//! say of them.
mod browse;
mod command_line;
mod disk;
mod documents;
mod feeder_fault;
mod groups;
mod interface;
mod merge;
mod output;
mod packet;
mod peers;
mod process_bus;
mod quorum;
mod reclosing;
mod recorder;
mod relay;
mod support;
mod teleprotection;
mod wiring;
