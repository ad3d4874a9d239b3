//! What a run says to whoever watches it, captured or not.

use std::cell::Cell;
use std::io::Write;
use std::sync::Once;

thread_local! {
    static PANICS: Cell<u64> = const { Cell::new(0) };
}

/// Says it on the standard error stream.
pub fn say(text: &str) {
    // Nobody may be listening, which is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Panics of this thread so far. The runtime swallows those of tasks, and a program that panics breaks a promise.
pub fn panics() -> u64 {
    static COUNTED: Once = Once::new();
    COUNTED.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |what| {
            PANICS.with(|panics| panics.set(panics.get() + 1));
            usual(what);
        }));
    });
    PANICS.with(Cell::get)
}
