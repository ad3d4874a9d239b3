//! Every port in memory, for tests and for the simulator.
