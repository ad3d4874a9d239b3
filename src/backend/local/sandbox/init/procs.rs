//! Who exists and who descends from whom, as /proc tells it.

use std::collections::{BTreeMap, BTreeSet};

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// Its parent.
    pub(super) parent: i32,
    /// It has ended and only waits to be reaped.
    pub(super) zombie: bool,
}

/// Every process there is, by pid.
pub(super) type Table = BTreeMap<i32, Process>;

/// Reads the table. Processes that end meanwhile are left out.
pub(super) fn table() -> Table {
    let mut table = Table::new();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return table;
    };
    for entry in entries.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|n| n.parse::<i32>().ok())
        else {
            continue;
        };
        if let Some(process) = std::fs::read(format!("/proc/{pid}/stat"))
            .ok()
            .and_then(|stat| parse_stat(&stat))
        {
            table.insert(pid, process);
        }
    }
    table
}

/// The fields after the name, which is in parentheses and may hold anything, parentheses included.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    Some(Process {
        parent,
        zombie: matches!(state, "Z" | "X"),
    })
}

/// `roots` and everything below them, without what is at or below `spared`.
pub(super) fn below(table: &Table, roots: &BTreeSet<i32>, spared: &BTreeSet<i32>) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, process) in table {
        children.entry(process.parent).or_default().push(*pid);
    }
    let mut found = BTreeSet::new();
    let mut next: Vec<i32> = roots.iter().copied().collect();
    while let Some(pid) = next.pop() {
        if spared.contains(&pid) || !table.contains_key(&pid) || !found.insert(pid) {
            continue;
        }
        next.extend(children.get(&pid).into_iter().flatten());
    }
    found
}

/// The children of `parent`.
pub(super) fn children(table: &Table, parent: i32) -> BTreeSet<i32> {
    table
        .iter()
        .filter(|(_, process)| process.parent == parent)
        .map(|(pid, _)| *pid)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(pairs: &[(i32, i32)]) -> Table {
        pairs
            .iter()
            .map(|(pid, parent)| {
                let process = Process {
                    parent: *parent,
                    zombie: false,
                };
                (*pid, process)
            })
            .collect()
    }

    #[test]
    fn a_hostile_process_name_does_not_forge_its_parent() {
        let stat = b"42 (x) S 1 1 (y) R 7 42 42 0 -1";
        let expect = Process {
            parent: 7,
            zombie: false,
        };
        assert_eq!(parse_stat(stat), Some(expect));
        assert_eq!(parse_stat(b"42 (x"), None);
        assert!(parse_stat(b"42 (\xff) Z 1 0").is_some_and(|p| p.zombie));
    }

    #[test]
    fn other_families_are_spared() {
        let table = tree(&[
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 3),
            (5, 1),
            (6, 5),
            (7, 1),
            (8, 7),
        ]);
        let roots = children(&table, 1);
        let found = below(&table, &roots, &BTreeSet::from([5]));
        assert_eq!(found, BTreeSet::from([2, 3, 4, 7, 8]));
        assert_eq!(
            below(&table, &BTreeSet::from([99]), &BTreeSet::new()),
            BTreeSet::new()
        );
    }
}
