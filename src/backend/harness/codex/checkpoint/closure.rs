//! Which files a thread needs. Pure.

use std::collections::BTreeSet;

use super::TakeError;
use super::rollout::Head;

/// What does not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

impl Broken {
    /// As the reason why there is no checkpoint of a thread.
    pub fn of(self, thread: &str) -> TakeError {
        TakeError::Incomplete {
            thread: thread.to_owned(),
            reason: self.0,
        }
    }
}

/// The files of a thread, and of what its history begins with, each before what it refers to. Empty: there is no such thread. Those of its sub-agents are
/// none of them: they end with their process, and whoever asks for one later is to find nothing.
pub fn of<'a>(heads: &'a [Head], thread: &str) -> Result<Vec<&'a Head>, Broken> {
    let of_thread = |thread: &'a str| heads.iter().filter(move |head| head.thread == thread);
    let Some(own) = heads.iter().find(|head| head.thread == thread) else {
        return Ok(Vec::new());
    };
    let mut chosen: Vec<&Head> = Vec::new();
    let mut asked: BTreeSet<&str> = BTreeSet::new();
    let mut next: Vec<&str> = vec![&own.thread];
    while let Some(thread) = next.pop() {
        if !asked.insert(thread) {
            continue;
        }
        let before = chosen.len();
        for head in of_thread(thread) {
            chosen.push(head);
            next.extend(head.base.iter().map(|base| base.thread.as_str()));
        }
        if chosen.len() == before {
            return Err(Broken(format!("the file of thread {thread} is not there")));
        }
    }
    Ok(ordered(chosen))
}

/// Each before what it refers to. A file that refers to its own thread is a later part of it.
fn ordered(mut left: Vec<&Head>) -> Vec<&Head> {
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_wanted = |head: &Head| {
            left.iter().any(|other| {
                let base = other.base.as_ref().map(|base| base.thread.as_str());
                other.path != head.path && base == Some(head.thread.as_str())
                    // Of two parts of one thread the later one refers to the earlier one, and not the other way around.
                    && (other.thread != head.thread || head.base.is_none())
            })
        };
        let at = left.iter().position(|head| !is_wanted(head)).unwrap_or(0);
        order.push(left.remove(at));
    }
    order
}

/// Whether all that these files refer to is there, as far as they are long.
pub fn check<'a>(
    files: impl Iterator<Item = (&'a Head, u64)> + Clone,
    thread: &str,
) -> Result<(), Broken> {
    if !files.clone().any(|(head, _)| head.thread == thread) {
        return Err(Broken(format!("the file of thread {thread} is not there")));
    }
    for (head, _) in files.clone() {
        let Some(base) = &head.base else {
            continue;
        };
        let is_there = files.clone().any(|(other, size_bytes)| {
            other.thread == base.thread && other.path != head.path && size_bytes >= base.end_bytes
        });
        if !is_there {
            return Err(Broken(format!(
                "{} needs {} bytes of thread {}",
                head.path, base.end_bytes, base.thread
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::rollout::Base;
    use super::*;

    fn head(path: &str, thread: &str, base: Option<&str>) -> Head {
        Head {
            path: path.into(),
            thread: thread.into(),
            base: base.map(|thread| Base {
                thread: thread.into(),
                end_bytes: 100,
            }),
        }
    }

    fn paths(heads: &[Head], thread: &str) -> Vec<String> {
        let chosen = of(heads, thread).expect("it fits together");
        chosen.iter().map(|head| head.path.clone()).collect()
    }

    #[test]
    fn a_thread_needs_its_ancestors_and_nobody_else() {
        let heads = [
            head("root", "t1", None),
            head("fork", "t2", Some("t1")),
            head("fork-of-fork", "t3", Some("t2")),
            head("sub-agent", "c1", None),
            head("forked-sub-agent", "c2", Some("t3")),
            head("stranger", "t4", None),
        ];
        assert_eq!(paths(&heads, "t1"), ["root"]);
        assert_eq!(paths(&heads, "t3"), ["fork-of-fork", "fork", "root"]);
        assert_eq!(paths(&heads, "nobody"), Vec::<String>::new());
    }

    #[test]
    fn a_later_part_of_a_thread_comes_before_the_earlier_one() {
        for order in [[0, 1], [1, 0]] {
            let parts = [head("first", "t1", None), head("second", "t1", Some("t1"))];
            let heads = order.map(|at| parts[at].clone());
            assert_eq!(paths(&heads, "t1"), ["second", "first"]);
        }
    }

    #[test]
    fn what_refers_to_itself_in_a_circle_ends_all_the_same() {
        let heads = [head("a", "t1", Some("t2")), head("b", "t2", Some("t1"))];
        assert_eq!(paths(&heads, "t1").len(), 2);
    }

    #[test]
    fn an_ancestor_that_is_not_there_is_named() {
        let heads = [head("fork", "t2", Some("t1"))];
        let broken = of(&heads, "t2").expect_err("it is not there");
        assert!(broken.0.contains("t1"), "{broken:?}");
    }

    #[test]
    fn bytes_that_are_referred_to_must_be_there() {
        let fork = head("fork", "t2", Some("t1"));
        let root = head("root", "t1", None);
        for (size_bytes, fits) in [(99, false), (100, true), (101, true)] {
            let files = [(&fork, 7), (&root, size_bytes)];
            assert_eq!(check(files.into_iter(), "t2").is_ok(), fits);
        }
        assert!(check([(&fork, 7)].into_iter(), "t2").is_err());
        assert!(check([(&root, 7)].into_iter(), "t2").is_err());
    }
}
