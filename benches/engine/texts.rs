//! Text as people and programs write it, and text in which nothing repeats: a store that makes values smaller is measured with both.

/// What a text is like.
#[derive(Clone, Copy)]
pub enum Like {
    /// Words, of which few are frequent and many are rare, with numbers between them.
    Prose,
    /// Base64 of random bytes.
    Noise,
}

/// Words that a text chooses from.
const WORDS: u64 = 4_000;
const SYLLABLES: [&str; 24] = [
    "an", "ber", "con", "de", "er", "fi", "ga", "hal", "in", "ka", "lo", "men", "na", "or", "pre",
    "qui", "re", "sta", "ter", "un", "ver", "wi", "xe", "zo",
];

/// A text of so many bytes, ASCII, without quotes; another one for each seed.
pub fn text(like: Like, seed: u64, bytes: usize) -> String {
    let mut chance = Chance(seed.wrapping_add(1));
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        match like {
            Like::Prose => prose_word(&mut chance, &mut text),
            Like::Noise => {
                const LETTERS: &[u8] =
                    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                let letter = (chance.next() % LETTERS.len() as u64) as usize;
                text.push(char::from(LETTERS[letter]));
            }
        }
    }
    text.truncate(bytes);
    text
}

fn prose_word(chance: &mut Chance, text: &mut String) {
    if chance.next().is_multiple_of(12) {
        text.push_str(&(chance.next() % 100_000).to_string());
    } else {
        // As often as words are: the rank's inverse.
        let unit = (chance.next() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (WORDS as f64).powf(unit) as u64;
        let mut word = Chance(rank);
        for _ in 0..1 + word.next() % 4 {
            text.push_str(SYLLABLES[(word.next() % SYLLABLES.len() as u64) as usize]);
        }
    }
    text.push(' ');
}

/// SplitMix64: small, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
