//! Text that is safe to show: sanitising, display width, wrapping, times and sizes.
