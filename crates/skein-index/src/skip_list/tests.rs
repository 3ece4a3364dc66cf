//! What the structure must do beyond the contract of all indexes.
