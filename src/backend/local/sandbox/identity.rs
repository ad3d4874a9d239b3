//! Whom sandboxes run as on the host: ourselves, unless we are root.

use super::config::RunAs;

/// Whom to become before a sandbox starts; `None` for an ordinary user, who stays who they are.
///
/// In a user namespace of somebody else's, uid 0 may be an ordinary user of the machine, and may be the only user there is. That root
/// has nothing to give up.
pub(super) fn to_become(wanted: RunAs) -> Option<RunAs> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let map = |name: &str| Map(std::fs::read_to_string(name).unwrap_or_default());
    let (users, groups) = (map("/proc/self/uid_map"), map("/proc/self/gid_map"));
    let exists = users.outside(wanted.uid).is_some() && groups.outside(wanted.gid).is_some();
    let is_ordinary = users.outside(0).is_some_and(|uid| uid != 0);
    (exists || !is_ordinary).then_some(wanted)
}

/// The text of a `uid_map`: lines of (first inside, first outside, how many).
struct Map(String);

impl Map {
    /// The id outside for one inside.
    fn outside(&self, id: u32) -> Option<u64> {
        let id = u64::from(id);
        self.0.lines().find_map(|line| {
            let numbers: Vec<u64> = line
                .split_ascii_whitespace()
                .map_while(|n| n.parse().ok())
                .collect();
            let [inside, outside, count] = numbers[..] else {
                return None;
            };
            let offset = id.checked_sub(inside)?;
            (offset < count).then_some(outside + offset)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_their_range() {
        let map =
            Map("         0       1000          1\n         1     100000      65536\n".to_owned());
        assert_eq!(map.outside(0), Some(1000));
        assert_eq!(map.outside(65_530), Some(165_529));
        assert_eq!(map.outside(65_537), None);
        assert_eq!(
            Map("0 0 4294967295".to_owned()).outside(65_530),
            Some(65_530)
        );
        assert_eq!(Map(String::new()).outside(0), None);
    }
}
