//! Images that a terminal shows: decoded within bounds, made as small as a screen, and laid out in cells. Pure.

use std::io::Cursor;
use std::sync::Arc;

use image::imageops::FilterType;
use image::{ImageReader, Limits, RgbaImage};

/// Bytes of an image that is decoded at most.
pub const IMAGE_BYTES: usize = 8 << 20;
/// Memory for decoding one.
const DECODE_BYTES: u64 = 128 << 20;
/// Pixels of a side that are kept: more than a screen of cells can show in half blocks, and enough for one that shows pixels.
const KEPT_PIXELS: u32 = 1_024;
/// A side that is longer is not decoded.
const SIDE_PIXELS: u32 = 16_384;
/// Pixels of a cell whose terminal does not tell.
pub const CELL: (u16, u16) = (8, 16);

/// How images are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    /// In words: their kind and their pixels.
    #[default]
    Words,
    /// As half blocks in the 216 colours that terminals have in common.
    Blocks,
    /// As half blocks in all colours.
    FineBlocks,
    /// As pixels, the way that this terminal takes them.
    Pixels(Protocol),
}

/// A way in which terminals take pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// That of kitty.
    Kitty,
    /// That of iTerm2.
    Iterm2,
    /// DEC's.
    Sixel,
}

/// An image as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Columns of pixels.
    pub width: u32,
    /// Rows of pixels.
    pub height: u32,
    /// Red, green, blue and how opaque, a byte each, row by row.
    pub rgba: Arc<Vec<u8>>,
}

/// Decodes an image.
///
/// # Errors
/// In words: it is too large, or none.
pub fn decode(bytes: &[u8]) -> Result<Picture, String> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODE_BYTES);
    (limits.max_image_width, limits.max_image_height) = (Some(SIDE_PIXELS), Some(SIDE_PIXELS));
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| error.to_string())?;
    reader.limits(limits);
    let image = reader.decode().map_err(|error| error.to_string())?;
    let image = match image.width() > KEPT_PIXELS || image.height() > KEPT_PIXELS {
        true => image.thumbnail(KEPT_PIXELS, KEPT_PIXELS),
        false => image,
    };
    let rgba = image.into_rgba8();
    Ok(Picture {
        width: rgba.width(),
        height: rgba.height(),
        rgba: Arc::new(rgba.into_raw()),
    })
}

/// A pixel of a picture in words that a cell understands: `None` lets the background through.
type Pixel = Option<[u8; 3]>;

impl Picture {
    /// Cells that it takes in a place of so many, with its proportions kept; `cell` are the pixels of one.
    pub fn cells(&self, place: (u16, u16), cell: (u16, u16)) -> (u16, u16) {
        let (wide, high) = (u64::from(self.width.max(1)), u64::from(self.height.max(1)));
        let (cell_wide, cell_high) = (u64::from(cell.0.max(1)), u64::from(cell.1.max(1)));
        let (columns, rows) = (u64::from(place.0), u64::from(place.1));
        // As wide as the place, or else as high.
        let rows_then = (columns * cell_wide * high).div_ceil(wide * cell_high);
        let (columns, rows) = match rows_then <= rows {
            true => (columns, rows_then),
            false => (
                (rows * cell_high * wide)
                    .div_ceil(high * cell_wide)
                    .min(columns),
                rows,
            ),
        };
        (columns as u16, rows as u16)
    }

    /// The same picture in exactly so many pixels.
    pub fn scaled(&self, width: u32, height: u32) -> Picture {
        let raw = RgbaImage::from_raw(self.width, self.height, self.rgba.to_vec());
        let Some(raw) = raw.filter(|_| (width, height) != (self.width, self.height)) else {
            return self.clone();
        };
        let scaled =
            image::imageops::resize(&raw, width.max(1), height.max(1), FilterType::Triangle);
        Picture {
            width: scaled.width(),
            height: scaled.height(),
            rgba: Arc::new(scaled.into_raw()),
        }
    }

    /// What is seen at a pixel.
    pub fn pixel(&self, x: u32, y: u32) -> Pixel {
        let at = (y as usize * self.width as usize + x as usize) * 4;
        match self.rgba.get(at..at + 4) {
            Some([red, green, blue, opaque]) if *opaque >= 128 => Some([*red, *green, *blue]),
            _ => None,
        }
    }

    /// The mean of a part of it: the `x`th of `columns` and the `y`th of `rows`.
    pub fn part(&self, (x, y): (u16, u16), (columns, rows): (u16, u16)) -> Pixel {
        let span = |at: u16, of: u16, pixels: u32| {
            let (at, of) = (u64::from(at), u64::from(of.max(1)));
            let from = at * u64::from(pixels) / of;
            let to = ((at + 1) * u64::from(pixels) / of).max(from + 1);
            // Few pixels of a large part stand for all.
            let step = ((to - from) / SAMPLES).max(1);
            (from..to.min(u64::from(pixels))).step_by(step as usize)
        };
        let (mut sums, mut seen, mut clear) = ([0_u32; 3], 0_u32, 0_u32);
        for y in span(y, rows, self.height) {
            for x in span(x, columns, self.width) {
                match self.pixel(x as u32, y as u32) {
                    Some(pixel) => {
                        for (sum, colour) in sums.iter_mut().zip(pixel) {
                            *sum += u32::from(colour);
                        }
                        seen += 1;
                    }
                    None => clear += 1,
                }
            }
        }
        (seen > 0 && seen >= clear).then(|| sums.map(|sum| (sum / seen) as u8))
    }
}

/// Pixels of a part in each direction whose mean is taken.
const SAMPLES: u64 = 4;

/// The number of a colour in the cube that terminals with 256 colours have.
pub fn of_the_cube([red, green, blue]: [u8; 3]) -> u8 {
    let level = |colour: u8| match colour {
        0..48 => 0,
        48..115 => 1,
        colour => (colour - 35) / 40,
    };
    16 + 36 * level(red) + 6 * level(green) + level(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, height: u32, pixel: [u8; 4]) -> Picture {
        let pixels = (width * height) as usize;
        Picture {
            width,
            height,
            rgba: Arc::new(pixel.repeat(pixels)),
        }
    }

    #[test]
    fn proportions_are_kept_within_the_place() {
        let wide = picture(640, 320, [0; 4]);
        assert_eq!(wide.cells((80, 40), (8, 16)), (80, 20));
        assert_eq!(wide.cells((80, 10), (8, 16)), (40, 10));
        let high = picture(10, 1_000, [0; 4]);
        let (columns, rows) = high.cells((80, 40), (8, 16));
        assert_eq!((columns, rows), (1, 40));
        assert_eq!(wide.cells((0, 0), (0, 0)), (0, 0));
    }

    #[test]
    fn parts_are_means_and_what_is_clear_lets_the_background_through() {
        let mut half = picture(4, 2, [200, 100, 0, 255]);
        let rgba = Arc::make_mut(&mut half.rgba);
        rgba[..16].copy_from_slice(&[0; 16]);
        assert_eq!(half.part((0, 1), (1, 2)), Some([200, 100, 0]));
        assert_eq!(half.part((0, 0), (1, 2)), None);
        assert_eq!(half.part((9, 9), (10, 10)), Some([200, 100, 0]));
    }

    #[test]
    fn colours_of_the_cube_are_near() {
        assert_eq!(of_the_cube([0, 0, 0]), 16);
        assert_eq!(of_the_cube([255, 255, 255]), 231);
        assert_eq!(of_the_cube([255, 0, 0]), 196);
        assert_eq!(of_the_cube([95, 135, 175]), 16 + 36 + 12 + 3);
    }

    #[test]
    fn what_is_no_image_and_what_says_it_is_endless_are_refused() {
        assert!(decode(b"plain words").is_err());
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([
            0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 8, 6, 0, 0, 0,
        ]);
        png.extend([0; 64]);
        assert!(decode(&png).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_odd(head in 0..4_usize, rest in proptest::collection::vec(proptest::num::u8::ANY, 0..400)) {
            let heads: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff\xe0", b"RIFF\x20\0\0\0WEBP"];
            let _ = decode(&[heads[head], &rest].concat());
        }
    }
}
