//! One execution of a scenario.
