//! An image below the words for it: as half blocks, or as a place that the terminal fills with pixels.

use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::paint::{Paint, Placed};
use crate::text::Glyphs;
use crate::tui::artifacts::Preview;
use crate::tui::picture::{Picture, Pictures, of_the_cube};
use crate::tui::state::State;

/// Draws it as far as this screen can show it; otherwise a line says why it is not drawn.
pub fn draw(state: &State, preview: &Preview, paint: &mut Paint, area: Rect) {
    if area.height == 0 {
        return;
    }
    // Half blocks are characters and colours, which a person may have done without.
    let can_block = paint.colour && paint.glyphs == Glyphs::Unicode;
    let decoded = preview.head.as_ref().and_then(|head| head.picture.as_ref());
    let below = Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    };
    let room = (below.width, below.height);
    match (decoded, state.about.pictures) {
        (Some(Ok(picture)), Pictures::Pixels(_)) => {
            let (columns, rows) = picture.cells(room, state.cell);
            paint.placed = Some(Placed {
                of: preview.artifact.id.clone(),
                area: Rect {
                    width: columns,
                    height: rows,
                    ..below
                },
                picture: picture.clone(),
            });
        }
        (Some(Ok(picture)), how @ (Pictures::Blocks | Pictures::FineBlocks)) if can_block => {
            blocks(picture, how == Pictures::FineBlocks, paint, below);
        }
        (Some(Err(why)), _) => {
            let words = format!("It is not drawn here: {why}.");
            paint.words(area.x, area.y, usize::from(area.width), &words, paint.dim());
        }
        _ => {
            let words = "It is not drawn here: save it to look at it.";
            paint.words(
                area.x,
                area.y,
                usize::from(area.width),
                words,
                Style::default(),
            );
        }
    }
}

/// Two pixels a cell, one above the other.
fn blocks(picture: &Picture, fine: bool, paint: &mut Paint, area: Rect) {
    let (columns, rows) = picture.cells((area.width, area.height), (1, 2));
    let colour = |[red, green, blue]: [u8; 3]| match fine {
        true => Color::Rgb(red, green, blue),
        false => Color::Indexed(of_the_cube([red, green, blue])),
    };
    let of = (columns, rows.saturating_mul(2));
    for row in 0..rows {
        for column in 0..columns {
            let upper = picture.part((column, row * 2), of).map(colour);
            let lower = picture.part((column, row * 2 + 1), of).map(colour);
            let (symbol, style) = match (upper, lower) {
                (None, None) => continue,
                (Some(upper), None) => ("\u{2580}", Style::default().fg(upper)),
                (None, Some(lower)) => ("\u{2584}", Style::default().fg(lower)),
                (Some(upper), Some(lower)) => ("\u{2580}", Style::default().fg(upper).bg(lower)),
            };
            paint
                .buffer
                .set_string(area.x + column, area.y + row, symbol, style);
        }
    }
}
