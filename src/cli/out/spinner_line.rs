//! The line of standard error on which a spinner turns.
//!
//! indicatif's own fills the line with blanks, so that whatever is typed meanwhile lands on the next one, and the spinner's line
//! stays when it is done. This one leaves the cursor behind the words: the echo of a key, `^C` above all, goes with the line.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use indicatif::TermLike;

/// See the module.
#[derive(Debug)]
pub(super) struct SpinnerLine {
    width_cells: u16,
    /// Written at once by a flush, so that a frame is never seen in parts.
    frame: Mutex<String>,
}

impl SpinnerLine {
    pub(super) fn new(width_cells: usize) -> SpinnerLine {
        SpinnerLine {
            width_cells: u16::try_from(width_cells).unwrap_or(u16::MAX),
            frame: Mutex::default(),
        }
    }

    fn add(&self, text: &str) -> io::Result<()> {
        let mut frame = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
        frame.push_str(text);
        Ok(())
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.frame.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TermLike for SpinnerLine {
    fn width(&self) -> u16 {
        self.width_cells
    }

    // There is one line: the cursor never leaves it.
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        match text.trim_matches(' ').is_empty() {
            // The filling.
            true => Ok(()),
            false => self.add(text),
        }
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let frame = self.take();
        let mut stderr = io::stderr().lock();
        stderr.write_all(frame.as_bytes())?;
        stderr.flush()
    }
}

#[cfg(test)]
mod tests {
    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
    use std::sync::Arc;

    use super::*;

    /// Keeps what would be written.
    #[derive(Clone, Debug)]
    struct Kept(Arc<SpinnerLine>, Arc<Mutex<String>>);

    impl TermLike for Kept {
        fn width(&self) -> u16 {
            self.0.width()
        }
        fn move_cursor_up(&self, n: usize) -> io::Result<()> {
            self.0.move_cursor_up(n)
        }
        fn move_cursor_down(&self, n: usize) -> io::Result<()> {
            self.0.move_cursor_down(n)
        }
        fn move_cursor_right(&self, n: usize) -> io::Result<()> {
            self.0.move_cursor_right(n)
        }
        fn move_cursor_left(&self, n: usize) -> io::Result<()> {
            self.0.move_cursor_left(n)
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.0.write_line(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.write_str(text)
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.clear_line()
        }
        fn flush(&self) -> io::Result<()> {
            let frame = self.0.take();
            self.1.lock().expect("one thread").push_str(&frame);
            Ok(())
        }
    }

    #[test]
    fn the_cursor_stays_behind_the_words_and_the_line_is_cleared_at_the_end() {
        let kept = Kept(Arc::new(SpinnerLine::new(40)), Arc::default());
        let target = ProgressDrawTarget::term_like(Box::new(kept.clone()));
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("a template"));
        bar.set_message("working");
        bar.tick();
        let text = || kept.1.lock().expect("one thread").clone();
        assert!(text().ends_with("working"), "{:?}", text());
        bar.finish_and_clear();
        assert!(text().ends_with("\r\x1b[2K"), "{:?}", text());
        assert!(
            !text().contains('\n') && !text().contains("  "),
            "{:?}",
            text()
        );
    }
}
