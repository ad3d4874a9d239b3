//! The decided configuration as plain typed values, for the code that uses it.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::args::Overrides;
use super::check;
use super::file::{self, File};
use super::keys::{API, AWS};
use super::locate;
use super::origin::{Entry, Origin, Resolved};
use super::resolve::Decided;
use super::vars::Vars;
use super::workers::WorkerSettings;
use crate::api::{HarnessChoice, Secret};
use crate::cli::out::{CliError, ColorChoice, codes};
use crate::text::{Glyphs, TimeStyle};

/// Everything the user decided, and from where.
#[derive(Debug)]
pub struct Settings {
    /// The configuration file, whether or not it exists.
    pub config_file: Option<PathBuf>,
    /// Name of the chosen profile.
    pub profile: Resolved<String>,
    /// Names of all profiles of the file, in order.
    pub profiles: Vec<String>,
    /// Absolute path of the data directory. It may not exist yet: see [`super::prepare_data_dir`].
    pub data_dir: Resolved<PathBuf>,
    /// The server where Sessions live; `None`: they live in the data directory.
    pub server: Option<ServerSettings>,
    /// The AWS account where Sessions live; `None`: they do not live in one.
    pub aws: Option<AwsSettings>,
    /// Commands that change something are refused.
    pub read_only: bool,
    /// What drives the agent.
    pub harness: HarnessSettings,
    /// Hosts of MCP servers that may be used though their addresses are not public.
    pub mcp_private_hosts: Vec<String>,
    /// The model.
    pub provider: ProviderSettings,
    /// Where commands run.
    pub sandbox: SandboxSettings,
    /// The background process.
    pub daemon: DaemonSettings,
    /// Bounds of a Turn.
    pub limits: LimitSettings,
    /// What a person sees.
    pub ui: UiSettings,
    /// How the screen shows images: one of the words for that.
    pub ui_images: String,
    /// Other keys for the screen, as they were written.
    pub ui_keys: Vec<String>,
    /// The screen takes the mouse.
    pub ui_mouse: bool,
    /// What the command line said.
    flags: Overrides,
    decided: Decided,
}

/// A profile of kind `api`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// With the version of the API, without the path of a call.
    pub base_url: String,
    /// Where the access key comes from.
    pub key: KeyOrigin,
    /// Certificates that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// How long a request may take, with all its repetitions.
    pub timeout_ms: u64,
}

/// A profile of kind `aws`. What is `None` is found where every AWS tool finds it, or follows from the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsSettings {
    /// A profile of the AWS configuration.
    pub profile: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// Names everything that has no name of its own.
    pub deployment: String,
    /// The table of the records.
    pub table: Option<String>,
    /// The bucket of the content.
    pub bucket: Option<String>,
    /// The key that encrypts objects.
    pub kms_key: Option<String>,
    /// Instead of AWS' own addresses.
    pub endpoint_url: Option<String>,
    /// The command line says so, which goes before what variables say, of one service or of all.
    pub endpoint_is_told: bool,
    /// Where agents run.
    pub workers: WorkerSettings,
}

impl AwsSettings {
    /// Where the command line says that AWS is. What this program starts is told the same.
    pub fn told_endpoint(&self) -> Option<&str> {
        let url = self.endpoint_url.as_deref();
        url.filter(|_| self.endpoint_is_told)
    }
}

impl Default for AwsSettings {
    fn default() -> AwsSettings {
        AwsSettings {
            profile: None,
            region: None,
            deployment: "rat-things".to_owned(),
            table: None,
            bucket: None,
            kms_key: None,
            endpoint_url: None,
            endpoint_is_told: false,
            workers: WorkerSettings::default(),
        }
    }
}

/// Where an access key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// There is none.
    Nowhere,
    /// This variable.
    Env(String),
    /// This file.
    File(PathBuf),
    /// Program and arguments that print it. May hold secrets: never show it.
    Command(Vec<String>),
}

/// Which model port is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Offline and deterministic; only pretends.
    Demo,
    /// A Responses-API model.
    Responses,
}

/// What drives agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HarnessSettings {
    /// Those whose Agent names nothing.
    pub usual: HarnessChoice,
    /// Codex' binary or its package, unless it is to be looked up.
    pub codex: Option<PathBuf>,
}

/// `[profile.NAME.provider]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Which port.
    pub kind: ProviderKind,
    /// Somebody chose the kind; `false` means that nothing was configured.
    pub configured: bool,
    /// Without the path of the call.
    pub base_url: String,
    /// Variable that holds the key; not used when there is a command.
    pub api_key_env: String,
    /// Program and arguments that print the key. May hold secrets: never show it.
    pub api_key_command: Option<Vec<String>>,
    /// Name of the secret that holds the key; goes before both.
    pub api_key_secret: Option<String>,
    /// The key itself, once it was read from there.
    pub api_key: Option<Secret>,
    /// Model of Sessions that name none.
    pub model: Option<String>,
    /// Longest silence during a call.
    pub timeout_ms: u64,
    /// Repetitions of a failed call.
    pub max_retries: u32,
}

/// How commands are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationChoice {
    /// In a sandbox.
    Sandbox,
    /// Not at all, on the operator's explicit wish.
    UnsafeNone,
}

/// What commands reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkChoice {
    /// Nothing.
    Disabled,
    /// These hosts: `host`, `host:port`, `*.domain`; never empty.
    Restricted(Vec<String>),
    /// Every public address.
    Enabled,
}

/// `[profile.NAME.sandbox]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// How commands are isolated.
    pub isolation: IsolationChoice,
    /// What they reach.
    pub network: NetworkChoice,
    /// Names of variables that are passed through.
    pub env: Vec<String>,
    /// Memory of an environment.
    pub memory_bytes: u64,
    /// Processes and threads of an environment.
    pub pids: u64,
    /// CPU time of a process.
    pub cpu_seconds: u64,
    /// Largest file.
    pub file_bytes: u64,
    /// bubblewrap, unless it is to be looked up.
    pub bwrap: Option<PathBuf>,
}

/// `[profile.NAME.daemon]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSettings {
    /// A daemon that was started by itself leaves after this long without work.
    pub idle_exit_ms: u64,
    /// What running Turns get when it is stopped.
    pub grace_ms: u64,
    /// Worker processes at most.
    pub workers: usize,
    /// Turns of one worker process at once.
    pub runs_per_worker: usize,
    /// Start one when there is work.
    pub autostart: bool,
    /// Where it serves HTTP, if it does.
    pub listen: Option<SocketAddr>,
    /// Over HTTP, everybody on this machine is the user.
    pub no_auth: bool,
    /// The certificate and its key to serve with; both or none.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Requests a second of a key that says nothing else; `None`: no limit.
    pub requests_per_second: Option<u32>,
}

/// What happens to a Turn whose worker was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryChoice {
    /// It goes on.
    Continue,
    /// It fails; the Session goes on.
    Fail,
}

/// `[profile.NAME.limits]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// Workers that may be lost over a Turn.
    pub turn_attempts: u32,
    /// Model calls of a Turn.
    pub model_calls_per_turn: u32,
    /// Longest silence of a worker before it is asked about.
    pub lease_ms: u64,
    /// What happens to a Turn whose worker was lost.
    pub recovery: RecoveryChoice,
}

/// `[ui]`. The default is what holds before a configuration was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UiSettings {
    /// When to use colour.
    pub color: ColorChoice,
    /// What to draw with; `None` = what the locale allows.
    pub glyphs: Option<Glyphs>,
    /// How times are shown.
    pub time: TimeStyle,
}

impl Settings {
    /// Reads the file and the environment and decides.
    ///
    /// # Errors
    /// Usage errors that name file and line, variable or flag, and what is expected there.
    pub fn load(vars: &Vars, flags: &Overrides) -> Result<Settings, CliError> {
        let config_file = locate::config_file(vars);
        let file = match &config_file {
            Some(path) => file::read(path)?,
            None => File::default(),
        };
        Settings::decide(config_file, &file, vars, flags)
    }

    /// The same command line with another profile.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn of_profile(&self, vars: &Vars, name: &str) -> Result<Settings, CliError> {
        let flags = Overrides {
            profile: Some(name.to_owned()),
            // They belong to the profile that was left.
            data_dir: None,
            endpoint_url: None,
            ..self.flags.clone()
        };
        Settings::load(vars, &flags)
    }

    pub(super) fn decide(
        config_file: Option<PathBuf>,
        file: &File,
        vars: &Vars,
        flags: &Overrides,
    ) -> Result<Settings, CliError> {
        let decided = Decided::new(file, vars, flags)?;
        check::contradictions(&decided)?;
        Ok(Settings {
            config_file,
            profile: decided.profile.clone(),
            profiles: file.profiles.keys().cloned().collect(),
            data_dir: decided.data_dir.clone(),
            server: server(&decided, vars),
            aws: aws(&decided),
            read_only: decided.flag("read_only"),
            harness: harness(&decided, vars),
            provider: provider(&decided),
            sandbox: sandbox(&decided, vars),
            daemon: daemon(&decided, vars),
            limits: limits(&decided),
            ui: ui(&decided),
            ui_images: decided.text("images").unwrap_or_default(),
            mcp_private_hosts: decided.texts("mcp.private_hosts"),
            ui_keys: decided.texts("keys"),
            ui_mouse: decided.flag("mouse"),
            flags: flags.clone(),
            decided,
        })
    }

    /// Every key with its value and origin, in a stable order: what `config show` prints.
    pub fn entries(&self) -> Vec<Entry> {
        self.decided.entries()
    }

    /// From where the value of `key` came (`provider.model`, `read_only`, …).
    pub fn origin(&self, key: &str) -> Origin {
        self.decided.origin(key)
    }

    /// The model of Sessions that name neither a model nor an Agent.
    pub fn default_model(&self) -> Option<String> {
        let here = self.server.is_none() && self.provider.kind == ProviderKind::Demo;
        let demo = || here.then(|| "demo".to_owned());
        self.provider.model.clone().or_else(demo)
    }

    /// Whether the demo model answers because nobody chose any.
    pub fn answers_with_demo_by_default(&self) -> bool {
        self.server.is_none()
            && self.provider.kind == ProviderKind::Demo
            && !self.provider.configured
    }

    /// Refuses to change anything in read-only mode. `what` is the command as it was typed.
    ///
    /// # Errors
    /// Usage, naming from where the mode came.
    pub fn may_change(&self, what: &str) -> Result<(), CliError> {
        if !self.read_only {
            return Ok(());
        }
        let origin = self.origin("read_only");
        Err(CliError::new(
            codes::READ_ONLY,
            format!("{what} would change something, and read-only mode is on ({origin})"),
        ))
    }
}

fn server(decided: &Decided, vars: &Vars) -> Option<ServerSettings> {
    if decided.kind != API {
        return None;
    }
    let path = |key: &str| {
        let text = decided.text(key)?;
        locate::expand_home(&text, vars)
    };
    let command = decided.texts("key_command");
    let key = match (decided.text("key_env"), path("key_file")) {
        (Some(name), _) => KeyOrigin::Env(name),
        (None, Some(file)) => KeyOrigin::File(file),
        (None, None) if command.is_empty() => KeyOrigin::Nowhere,
        (None, None) => KeyOrigin::Command(command),
    };
    Some(ServerSettings {
        base_url: decided.text("base_url").unwrap_or_default(),
        key,
        ca_file: path("ca_file"),
        timeout_ms: decided.whole("timeout_s") * 1_000,
    })
}

fn aws(decided: &Decided) -> Option<AwsSettings> {
    (decided.kind == AWS).then(|| AwsSettings {
        profile: decided.text("aws.profile"),
        region: decided.text("aws.region"),
        deployment: decided.text("aws.deployment").unwrap_or_default(),
        table: decided.text("aws.table"),
        bucket: decided.text("aws.bucket"),
        kms_key: decided.text("aws.kms_key"),
        endpoint_url: decided.text("aws.endpoint_url"),
        endpoint_is_told: matches!(decided.origin("aws.endpoint_url"), Origin::Flag(_)),
        workers: WorkerSettings::of(decided),
    })
}

fn harness(decided: &Decided, vars: &Vars) -> HarnessSettings {
    HarnessSettings {
        usual: match decided.text("harness").as_deref() {
            Some("codex") => HarnessChoice::Codex,
            _ => HarnessChoice::Responses,
        },
        codex: decided
            .text("codex.program")
            .and_then(|path| locate::expand_home(&path, vars)),
    }
}

fn provider(decided: &Decided) -> ProviderSettings {
    let command = decided.texts("provider.api_key_command");
    ProviderSettings {
        kind: match decided.text("provider.kind").as_deref() {
            Some("responses") => ProviderKind::Responses,
            _ => ProviderKind::Demo,
        },
        configured: decided.origin("provider.kind") != Origin::Default,
        base_url: decided.text("provider.base_url").unwrap_or_default(),
        api_key_env: decided.text("provider.api_key_env").unwrap_or_default(),
        api_key_command: (!command.is_empty()).then_some(command),
        api_key_secret: decided.text("provider.api_key_secret"),
        api_key: None,
        model: decided.text("provider.model"),
        timeout_ms: decided.whole("provider.timeout_ms"),
        max_retries: small(decided.whole("provider.max_retries")),
    }
}

fn sandbox(decided: &Decided, vars: &Vars) -> SandboxSettings {
    SandboxSettings {
        isolation: match decided.text("sandbox.isolation").as_deref() {
            Some("unsafe-none") => IsolationChoice::UnsafeNone,
            _ => IsolationChoice::Sandbox,
        },
        network: match decided.text("sandbox.network").as_deref() {
            Some("enabled") => NetworkChoice::Enabled,
            Some("restricted") => {
                NetworkChoice::Restricted(decided.texts("sandbox.allowed_domains"))
            }
            _ => NetworkChoice::Disabled,
        },
        env: decided.texts("sandbox.env"),
        memory_bytes: decided.whole("sandbox.memory_bytes"),
        pids: decided.whole("sandbox.pids"),
        cpu_seconds: decided.whole("sandbox.cpu_seconds"),
        file_bytes: decided.whole("sandbox.file_bytes"),
        bwrap: decided
            .text("sandbox.bwrap")
            .and_then(|path| locate::expand_home(&path, vars)),
    }
}

fn daemon(decided: &Decided, vars: &Vars) -> DaemonSettings {
    let path = |key: &str| {
        let path = decided.text(key)?;
        locate::expand_home(&path, vars)
    };
    DaemonSettings {
        idle_exit_ms: decided.whole("daemon.idle_exit_ms"),
        grace_ms: decided.whole("daemon.grace_ms"),
        workers: small(decided.whole("daemon.workers")) as usize,
        runs_per_worker: small(decided.whole("daemon.runs_per_worker")) as usize,
        // In an account a daemon runs somewhere already, or is to be started by whoever looks after it.
        autostart: decided.flag("daemon.autostart")
            && (decided.kind != AWS || decided.origin("daemon.autostart") != Origin::Default),
        listen: decided
            .text("daemon.listen")
            .and_then(|text| text.parse().ok()),
        no_auth: decided.flag("daemon.no_auth"),
        tls: path("daemon.tls_cert").zip(path("daemon.tls_key")),
        requests_per_second: match small(decided.whole("daemon.requests_per_second")) {
            0 => None,
            limit => Some(limit),
        },
    }
}

fn limits(decided: &Decided) -> LimitSettings {
    LimitSettings {
        turn_attempts: small(decided.whole("limits.turn_attempts")),
        model_calls_per_turn: small(decided.whole("limits.model_calls_per_turn")),
        lease_ms: decided.whole("limits.lease_ms"),
        recovery: match decided.text("limits.recovery").as_deref() {
            Some("fail") => RecoveryChoice::Fail,
            _ => RecoveryChoice::Continue,
        },
    }
}

fn ui(decided: &Decided) -> UiSettings {
    UiSettings {
        color: match decided.text("color").as_deref() {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            _ => ColorChoice::Auto,
        },
        glyphs: match decided.text("glyphs").as_deref() {
            Some("unicode") => Some(Glyphs::Unicode),
            Some("ascii") => Some(Glyphs::Ascii),
            _ => None,
        },
        time: match decided.text("time").as_deref() {
            Some("local") => TimeStyle::Local,
            Some("utc") => TimeStyle::Utc,
            _ => TimeStyle::Relative,
        },
    }
}

/// The bounds in the table of keys are far below this.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
