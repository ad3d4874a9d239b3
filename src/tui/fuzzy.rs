//! How well letters that were typed fit a text: in order, with anything in between. Pure.

/// A score, the higher the better; `None`: not all letters are there in this order. Without letters everything fits.
pub fn fits(typed: &str, text: &str) -> Option<u32> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let mut score = 0;
    let mut from = 0;
    let mut last = None;
    for wanted in typed.to_lowercase().chars().filter(|c| !c.is_whitespace()) {
        let starts_word = |at: usize| at == 0 || !text[at - 1].is_alphanumeric();
        let found = |at: &usize| text.get(*at) == Some(&wanted);
        // A letter that goes on where the last one was is best, then one that begins a word.
        let next = Some(from).filter(|at| last.is_some() && found(at));
        let word = || (from..text.len()).find(|at| found(at) && starts_word(*at));
        let any = || (from..text.len()).find(found);
        let at = next.or_else(word).or_else(any)?;
        score += match () {
            () if next.is_some() => 8,
            () if starts_word(at) => 6,
            () => 1,
        };
        (from, last) = (at + 1, Some(at));
    }
    // Words that are there as they were typed are what is meant.
    let whole = typed.trim().to_lowercase();
    let all: String = text.iter().collect();
    if !whole.is_empty() && all.contains(&whole) {
        score += 8 * whole.len() as u32;
    }
    // Of two that fit alike the shorter one is meant.
    Some(score * 64 + 64_u32.saturating_sub(text.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_must_come_in_order() {
        assert!(fits("cncl", "cancel the turn").is_some());
        assert!(fits("lcn", "cancel").is_none());
        assert!(fits("", "anything").is_some());
    }

    #[test]
    fn what_goes_on_or_begins_a_word_fits_better() {
        let better = |typed, one, other| {
            assert!(
                fits(typed, one) > fits(typed, other),
                "{typed}: {one}, {other}"
            );
        };
        better("turn", "the turns", "to use a rest now");
        better("ct", "cancel turn", "create it");
        better("list", "list", "list of things");
    }
}
