//! A few lines at the end of what was printed, for text that is not complete: drawn, drawn again, and erased without a trace.
//!
//! What stays is written by others, who erase the window first. Surprising: it is on standard output, above the spinner, because
//! that is where the complete text takes its place; nothing of it is there when the command ends.

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Window {
    lines: usize,
    block: String,
}

impl Window {
    /// What to write so that the window is gone.
    pub(super) fn erase(&mut self) -> String {
        self.block.clear();
        match std::mem::take(&mut self.lines) {
            0 => String::new(),
            lines => format!("\r\x1b[{lines}A\x1b[J"),
        }
    }

    /// What to write so that the window holds this, a block of whole lines; `None` if it does already.
    pub(super) fn draw(&mut self, block: String) -> Option<String> {
        if block == self.block {
            return None;
        }
        let erased = self.erase();
        self.lines = block.lines().count();
        self.block = block;
        Some(format!("{erased}{}", self.block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_takes_its_own_lines_back_and_no_others() {
        let mut window = Window::default();
        assert_eq!(window.erase(), "");
        assert_eq!(window.draw("a\nb\n".into()).as_deref(), Some("a\nb\n"));
        assert_eq!(window.draw("a\nb\n".into()), None);
        assert_eq!(
            window.draw("c\n".into()).as_deref(),
            Some("\r\x1b[2A\x1b[Jc\n")
        );
        assert_eq!(
            window.draw(String::new()).as_deref(),
            Some("\r\x1b[1A\x1b[J")
        );
        assert_eq!(window.erase(), "");
    }
}
