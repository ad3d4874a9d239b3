//! Files of workspaces, as they are now, whoever holds the environment.

/// Which files of a workspace are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesQuery {
    /// Only below this directory: absolute, `/workspace` or below it.
    pub below: String,
    /// Files at most; at least 1.
    pub limit: usize,
    /// Highest first instead of lowest first.
    pub reverse: bool,
    /// Behind this path in the order asked for.
    pub after: Option<String>,
}

/// A regular file in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFile {
    /// Absolute path as the agent sees it.
    pub path: String,
    /// Its length now.
    pub size_bytes: u64,
}

/// Some files of a workspace, in the order of the components of their paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceFiles {
    /// In the order asked for.
    pub files: Vec<WorkspaceFile>,
    /// Whether more follow.
    pub more: bool,
}

/// Why files of a workspace can't be listed or put.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// There is no such workspace here. Nothing was put.
    #[error("there is no workspace of {0}")]
    Missing(String),
    /// The path leads to something else than is asked for, in words. Nothing was put.
    #[error("{0}")]
    Path(String),
    /// There is more than may be looked at or put, in words. Nothing was put.
    #[error("{0}")]
    TooMuch(String),
    /// What was to be put could not be read to its end. Nothing was put.
    #[error("the content could not be read: {0}")]
    Source(String),
    /// It could not be done. Nothing was put, or it is unknown whether it survives a power cut.
    #[error("the workspace can't be used: {0}")]
    Failed(String),
}
