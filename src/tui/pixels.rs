//! The bytes that make a terminal show pixels, in the three ways that terminals have. Pure.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};

use super::picture::{Picture, Protocol};

/// The name of our one image in a terminal that keeps them.
const NAME: u32 = 7_119;
/// Letters of a piece that kitty takes.
const PIECE: usize = 4_096;
/// Levels of each colour of a sixel image.
const LEVELS: u32 = 6;

/// What shows a picture at the cursor, in so many cells of so many pixels.
///
/// # Errors
/// In words: it can't be encoded.
pub fn show(
    picture: &Picture,
    by: Protocol,
    cells: (u16, u16),
    cell: (u16, u16),
) -> Result<String, String> {
    let (columns, rows) = cells;
    Ok(match by {
        Protocol::Kitty => kitty(&STANDARD.encode(png(picture)?), columns, rows),
        Protocol::Iterm2 => format!(
            "\x1b]1337;File=inline=1;width={columns};height={rows};preserveAspectRatio=1;doNotMoveCursor=1:{}\x1b\\",
            STANDARD.encode(png(picture)?)
        ),
        Protocol::Sixel => {
            let (width, height) = (
                u32::from(columns) * u32::from(cell.0),
                u32::from(rows) * u32::from(cell.1),
            );
            sixel(&picture.scaled(width, height))
        }
    })
}

/// What takes it away, where drawing over it does not.
pub fn forget(by: Protocol) -> String {
    match by {
        Protocol::Kitty => format!("\x1b_Ga=d,d=I,i={NAME},q=2\x1b\\"),
        Protocol::Iterm2 | Protocol::Sixel => String::new(),
    }
}

fn png(picture: &Picture) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let (width, height) = (picture.width, picture.height);
    PngEncoder::new(&mut bytes)
        .write_image(&picture.rgba, width, height, ExtendedColorType::Rgba8)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn kitty(letters: &str, columns: u16, rows: u16) -> String {
    let mut bytes = String::with_capacity(letters.len() + letters.len() / PIECE * 16 + 64);
    let pieces: Vec<&[u8]> = letters.as_bytes().chunks(PIECE).collect();
    for (n, piece) in pieces.iter().enumerate() {
        let more = u8::from(n + 1 < pieces.len());
        bytes.push_str("\x1b_G");
        if n == 0 {
            // Quiet, and with the cursor left where it is.
            let _ = write!(bytes, "a=T,f=100,i={NAME},q=2,C=1,c={columns},r={rows},");
        }
        let _ = write!(bytes, "m={more};");
        bytes.push_str(std::str::from_utf8(piece).unwrap_or_default());
        bytes.push_str("\x1b\\");
    }
    bytes
}

/// Bands of six rows, each colour of a band in one line of it. What is clear is left as it is.
fn sixel(picture: &Picture) -> String {
    let (width, height) = (picture.width, picture.height);
    let mut bytes = format!("\x1bP0;1q\"1;1;{width};{height}");
    for number in 0..LEVELS.pow(3) {
        let percent = |part: u32| part * 100 / (LEVELS - 1);
        let (red, green, blue) = (
            number / LEVELS / LEVELS,
            number / LEVELS % LEVELS,
            number % LEVELS,
        );
        let _ = write!(
            bytes,
            "#{number};2;{};{};{}",
            percent(red),
            percent(green),
            percent(blue)
        );
    }
    for band in (0..height).step_by(6) {
        // For each colour that the band has, which of the six pixels of each column have it.
        let mut lines: Vec<Option<Vec<u8>>> = vec![None; LEVELS.pow(3) as usize];
        for x in 0..width {
            for row in 0..6.min(height - band) {
                let Some(pixel) = picture.pixel(x, band + row) else {
                    continue;
                };
                let line = lines[number(pixel)].get_or_insert_with(|| vec![0; width as usize]);
                line[x as usize] |= 1 << row;
            }
        }
        for (number, line) in lines.iter().enumerate() {
            if let Some(line) = line {
                let _ = write!(bytes, "#{number}");
                repeated(&mut bytes, line);
                bytes.push('$');
            }
        }
        bytes.push('-');
    }
    bytes.push_str("\x1b\\");
    bytes
}

fn number(pixel: [u8; 3]) -> usize {
    let level = |colour: u8| (u32::from(colour) * (LEVELS - 1) + 127) / 255;
    let [red, green, blue] = pixel.map(level);
    ((red * LEVELS + green) * LEVELS + blue) as usize
}

/// Columns of six pixels as letters, those that repeat as a number and one.
fn repeated(bytes: &mut String, line: &[u8]) {
    for run in line.chunk_by(|one, next| one == next) {
        let letter = char::from(run[0] + b'?');
        match run.len() {
            n @ 4.. => {
                let _ = write!(bytes, "!{n}{letter}");
            }
            n => bytes.extend(std::iter::repeat_n(letter, n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn red(width: u32, height: u32) -> Picture {
        Picture {
            width,
            height,
            rgba: Arc::new([255, 0, 0, 255].repeat((width * height) as usize)),
        }
    }

    fn shown(by: Protocol, picture: &Picture) -> String {
        show(picture, by, (2, 1), (8, 16)).expect("it is encoded")
    }

    #[test]
    fn pixels_are_named_counted_and_ended_in_every_way() {
        let kitty = shown(Protocol::Kitty, &red(4, 4));
        assert!(
            kitty.starts_with("\x1b_Ga=T,f=100,i=7119,q=2,C=1,c=2,r=1,m=0;"),
            "{kitty:?}"
        );
        assert!(kitty.ends_with("\x1b\\"), "{kitty:?}");
        let iterm = shown(Protocol::Iterm2, &red(4, 4));
        assert!(
            iterm.starts_with("\x1b]1337;File=inline=1;width=2;height=1;"),
            "{iterm:?}"
        );
        assert!(iterm.ends_with("\x1b\\"), "{iterm:?}");
        let sixel = shown(Protocol::Sixel, &red(4, 4));
        assert!(sixel.starts_with("\x1bP0;1q\"1;1;16;16"), "{sixel:?}");
        // Two bands of six rows and one of four, all red.
        assert!(
            sixel.ends_with("#180!16~$-#180!16~$-#180!16N$-\x1b\\"),
            "{sixel:?}"
        );
    }

    #[test]
    fn a_large_image_is_given_to_kitty_in_pieces() {
        let mut noise = red(300, 300);
        let mut chance = 1_u32;
        for byte in Arc::make_mut(&mut noise.rgba) {
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (chance >> 24) as u8 | 0x80;
        }
        let bytes = shown(Protocol::Kitty, &noise);
        let pieces: Vec<&str> = bytes
            .split("\x1b\\")
            .filter(|piece| !piece.is_empty())
            .collect();
        assert!(pieces.len() > 10, "{}", pieces.len());
        assert!(pieces.iter().all(|piece| piece.len() <= PIECE + 64));
        assert!(
            pieces[..pieces.len() - 1]
                .iter()
                .all(|piece| piece.contains("m=1;"))
        );
        assert!(pieces[pieces.len() - 1].contains("m=0;"));
    }
}
