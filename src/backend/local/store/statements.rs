//! The statements of one transaction: each is compiled once for its connection, and looked up once for the transaction.
//!
//! Looking one up takes as long as running a small one, and a group of commits runs some of them hundreds of times.

use rusqlite::{CachedStatement, Connection};

use super::keycode;

/// Statements that a connection which writes keeps compiled: all that it has.
pub(super) const KEPT: usize = 32;

/// A statement of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sql {
    /// What is known of a row before it is changed, wherever it is.
    Find,
    /// The same of a row that is not in `past`.
    FindInK,
    /// Whether any row was ever moved to `past`.
    HasPast,
    /// Whether any row of a partition was.
    PastOf,
    /// Whether a row is in `past`.
    IsPast,
    /// A new row of `k`, if it is one.
    InsertNew,
    /// A new row of `k`.
    Insert,
    /// A row of `k` that is there.
    Update,
    /// A row of `k` that goes.
    Delete,
    /// A row of `past` that goes.
    DeletePast,
    /// A new row of `body`.
    BodyInsert,
    /// A row of `body` that is there.
    BodyUpdate,
    /// A row of `body` that goes.
    BodyDelete,
    /// The number of a partition.
    Partition,
}

impl Sql {
    /// All of them, in their order.
    pub(super) const ALL: [Sql; 14] = [
        Sql::Find,
        Sql::FindInK,
        Sql::HasPast,
        Sql::PastOf,
        Sql::IsPast,
        Sql::InsertNew,
        Sql::Insert,
        Sql::Update,
        Sql::Delete,
        Sql::DeletePast,
        Sql::BodyInsert,
        Sql::BodyUpdate,
        Sql::BodyDelete,
        Sql::Partition,
    ];

    /// As SQLite reads it.
    pub(super) fn text(self) -> &'static str {
        match self {
            Sql::Find => {
                "SELECT ver, n, c = ?2, 0 FROM k WHERE key = ?1 UNION ALL SELECT ver, n, c = ?2, 1 FROM past WHERE key = ?1"
            }
            Sql::FindInK => "SELECT ver, n, c = ?2, 0 FROM k WHERE key = ?1",
            Sql::HasPast => "SELECT EXISTS (SELECT 1 FROM past)",
            Sql::PastOf => "SELECT EXISTS (SELECT 1 FROM past WHERE key >= ?1 AND key < ?2)",
            Sql::IsPast => "SELECT EXISTS (SELECT 1 FROM past WHERE key = ?1)",
            Sql::InsertNew => {
                "INSERT INTO k(key, ver, n, v, c) VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING"
            }
            Sql::Insert => "INSERT INTO k(key, ver, n, v, c) VALUES(?1, ?2, ?3, ?4, ?5)",
            Sql::Update => "UPDATE k SET ver = ?2, n = ?3, v = ?4, c = ?5 WHERE key = ?1",
            Sql::Delete => "DELETE FROM k WHERE key = ?1",
            Sql::DeletePast => "DELETE FROM past WHERE key = ?1",
            Sql::BodyInsert => "INSERT INTO body(v) VALUES(?1)",
            Sql::BodyUpdate => "UPDATE body SET v = ?2 WHERE n = ?1",
            Sql::BodyDelete => "DELETE FROM body WHERE n = ?1",
            Sql::Partition => "SELECT n FROM part WHERE p = ?1",
        }
    }
}

/// A connection in a transaction, with the statements that were looked up in it so far.
pub(super) struct Statements<'c> {
    /// The connection, for what is rarely run.
    pub(super) conn: &'c Connection,
    /// Whether a partition was given its number in this transaction, which may yet be rolled back.
    pub(super) gave_number: bool,
    /// Whether any row was ever moved to `past`, once that is known.
    has_past: Option<bool>,
    /// The partition that was asked about last, and whether rows of it were.
    past_of: Option<(i64, bool)>,
    taken: [Option<CachedStatement<'c>>; Sql::ALL.len()],
}

impl<'c> Statements<'c> {
    /// Looks up nothing yet.
    pub(super) fn new(conn: &'c Connection) -> Statements<'c> {
        Statements {
            conn,
            gave_number: false,
            has_past: None,
            past_of: None,
            taken: [const { None }; Sql::ALL.len()],
        }
    }

    /// The statement, to be run at once.
    pub(super) fn get(&mut self, sql: Sql) -> rusqlite::Result<&mut CachedStatement<'c>> {
        let place = &mut self.taken[sql as usize];
        Ok(match place {
            Some(taken) => taken,
            none => none.insert(self.conn.prepare_cached(sql.text())?),
        })
    }

    /// Whether rows of the partition with this number are in `past`. Most Sessions never have so many.
    pub(super) fn has_past(&mut self, partition: i64) -> rusqlite::Result<bool> {
        let any = match self.has_past {
            Some(any) => any,
            None => self.get(Sql::HasPast)?.query_row([], |row| row.get(0))?,
        };
        self.has_past = Some(any);
        match self.past_of {
            _ if !any => return Ok(false),
            Some((known, has)) if known == partition => return Ok(has),
            _ => {}
        }
        let all = [keycode::encode(partition, ""), keycode::behind(partition)];
        let has = self.get(Sql::PastOf)?.query_row(all, |row| row.get(0))?;
        self.past_of = Some((partition, has));
        Ok(has)
    }

    /// Rows were moved to `past`.
    pub(super) fn moved(&mut self) {
        (self.has_past, self.past_of) = (None, None);
    }
}
