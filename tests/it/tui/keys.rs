//! One table, every surface.

use rat_things::tui::action::{BINDINGS, find, key_name, page};
use rat_things::tui::msg::Msg;

use super::samples::key;

#[test]
fn the_page_of_keys_is_made_from_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md");
    // The same switch that writes snapshots.
    if std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        std::fs::write(path, page()).expect("writes");
    }
    let written = std::fs::read_to_string(path).expect("it is there");
    assert!(
        written == page(),
        "docs/keys.md is not the table:\n{}",
        page()
    );
}

#[test]
fn every_key_of_the_table_can_be_pressed_and_does_what_it_says() {
    for binding in BINDINGS {
        for name in binding.keys {
            let Msg::Key(event) = key(name) else {
                panic!("{name} is no key");
            };
            assert_eq!(key_name(&event).as_deref(), Some(*name));
            assert_eq!(
                find(binding.place, name, false),
                Some(binding.action),
                "{name}"
            );
        }
    }
}
