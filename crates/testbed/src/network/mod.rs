//! Links and switches in virtual time.
