//! What a command prints: data on stdout, talk on stderr, errors with hints and exit codes.
