//! What programs see of the plant: files.
