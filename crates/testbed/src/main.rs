//! `qcycle`: does power-grid control software act in time?

fn main() {}
