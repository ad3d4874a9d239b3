//! The list of all configuration keys. Everything else about them is derived from it.

use super::value::{Type, host_pattern, key_binding, subnet, variable_name};

/// Which table of the file a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The top of the file.
    Top,
    /// `[profile.NAME]` and the tables below it.
    Profile,
    /// `[ui]`.
    Ui,
}

/// Which profiles have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serves {
    /// Those of these kinds.
    Kinds(&'static [&'static str]),
    /// All of them.
    Every,
}

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) scope: Scope,
    /// Of what matters to [`Scope::Profile`] alone.
    pub(super) serves: Serves,
    /// Path below the scope's table.
    pub(super) path: &'static str,
    pub(super) kind: Type,
    /// As it would be written in the environment; `None` = not set.
    pub(super) default: Option<&'static str>,
    /// A default that is found out rather than fixed, in words.
    pub(super) default_words: Option<&'static str>,
    /// Variable that overrides it.
    pub(super) env: Option<&'static str>,
    /// Flag that overrides it.
    pub(super) flag: Option<&'static str>,
    pub(super) meaning: &'static str,
}

const fn key(scope: Scope, path: &'static str, kind: Type, meaning: &'static str) -> Key {
    Key {
        scope,
        serves: Serves::Every,
        path,
        kind,
        default: None,
        default_words: None,
        env: None,
        flag: None,
        meaning,
    }
}

const fn top(path: &'static str, kind: Type, meaning: &'static str) -> Key {
    key(Scope::Top, path, kind, meaning)
}

const fn profile(path: &'static str, kind: Type, meaning: &'static str) -> Key {
    Key {
        serves: Serves::Kinds(&[LOCAL, AWS]),
        ..key(Scope::Profile, path, kind, meaning)
    }
}

const fn api(path: &'static str, kind: Type, meaning: &'static str) -> Key {
    Key {
        serves: Serves::Kinds(&[API]),
        ..key(Scope::Profile, path, kind, meaning)
    }
}

const fn aws(path: &'static str, kind: Type, meaning: &'static str) -> Key {
    Key {
        serves: Serves::Kinds(&[AWS]),
        ..key(Scope::Profile, path, kind, meaning)
    }
}

const fn ui(path: &'static str, kind: Type, meaning: &'static str) -> Key {
    key(Scope::Ui, path, kind, meaning)
}

impl Key {
    const fn default(mut self, default: &'static str) -> Key {
        self.default = Some(default);
        self
    }

    const fn otherwise(mut self, words: &'static str) -> Key {
        self.default_words = Some(words);
        self
    }

    const fn env(mut self, env: &'static str) -> Key {
        self.env = Some(env);
        self
    }

    const fn every(mut self) -> Key {
        self.serves = Serves::Every;
        self
    }

    const fn flag(mut self, flag: &'static str) -> Key {
        self.flag = Some(flag);
        self
    }

    /// Whether profiles of this kind have it.
    pub(super) fn is_of(&self, kind: &str) -> bool {
        match self.serves {
            Serves::Kinds(kinds) => kinds.contains(&kind),
            Serves::Every => true,
        }
    }

    /// The key as it is called everywhere: `provider.model`, `ui.color`.
    pub(super) fn name(&self) -> String {
        match self.scope {
            Scope::Ui => format!("ui.{}", self.path),
            Scope::Top | Scope::Profile => self.path.to_owned(),
        }
    }
}

/// Sessions live in a store on this machine.
pub(super) const LOCAL: &str = "local";
/// Sessions live in an AWS account.
pub(super) const AWS: &str = "aws";
/// Sessions live on an Agents API server.
pub(super) const API: &str = "api";
/// Kinds of profile.
pub(super) const KINDS: &[&str] = &[LOCAL, AWS, API];

/// A day, which bounds every wait.
const DAY_MS: u64 = 1_000 * DAY_S;
/// The same in seconds.
const DAY_S: u64 = 86_400;

/// Every key, in the order in which they are shown.
pub(super) static KEYS: &[Key] = &[
    top(
        "default_profile",
        Type::Text,
        "Profile that is used when none is chosen.",
    )
    .otherwise("`default`, or the only one")
    .env("RAT_THINGS_PROFILE")
    .flag("--profile"),
    profile(
        "kind",
        Type::OneOf(KINDS),
        "Where Sessions live: `local`, in a store on this machine; `aws`, in an AWS account; `api`, on a server of the Agents API.",
    )
    .default(LOCAL)
    .every(),
    aws(
        "aws.profile",
        Type::Text,
        "With `aws`: profile of the AWS configuration that has the credentials.",
    )
    .otherwise("as every AWS tool"),
    aws("aws.region", Type::Text, "With `aws`: region of everything.")
        .otherwise("as every AWS tool"),
    aws(
        "aws.deployment",
        Type::Name,
        "With `aws`: name of the deployment, from which all others follow.",
    )
    .default("rat-things"),
    aws("aws.table", Type::Name, "With `aws`: the DynamoDB table of the records.")
        .otherwise("the deployment"),
    aws("aws.bucket", Type::Name, "With `aws`: the S3 bucket of the content.")
        .otherwise("deployment, account and region, with `-` between"),
    aws(
        "aws.kms_key",
        Type::Text,
        "With `aws`: key that encrypts objects: its id, ARN or alias.",
    )
    .otherwise("the bucket's own"),
    aws(
        "aws.endpoint_url",
        Type::BaseUrl,
        "With `aws`: where AWS is, if not where it always is; for emulators. The flag goes before every variable, too.",
    )
    .otherwise("as every AWS tool")
    .flag("--endpoint-url"),
    aws(
        "aws.workers",
        Type::OneOf(&["here", "ec2"]),
        "With `aws`: where a daemon has agents run: on its own machine, or on an EC2 instance for each Session.",
    )
    .default("here"),
    aws(
        "aws.launch_template",
        Type::Name,
        "With `ec2` workers: the launch template of instances; its default version is used.",
    )
    .otherwise("the deployment with `-worker` behind it"),
    aws("aws.instance_type", Type::Text, "With `ec2` workers: the type of instances.")
        .otherwise("the launch template's"),
    aws(
        "aws.subnets",
        Type::Texts(subnet),
        "With `ec2` workers: where instances may be; a launch that finds no room is followed by one in the next.",
    )
    .otherwise("the launch template's"),
    aws(
        "aws.spot",
        Type::Bool,
        "With `ec2` workers: instances are spot instances, cheaper and taken back at any time.",
    )
    .default("false"),
    aws(
        "aws.worker_program",
        Type::Text,
        "With `ec2` workers: SHA-256 of the program for instances, which `aws init` put into the bucket.",
    )
    .otherwise("this very program's"),
    aws(
        "aws.worker_idle_s",
        Type::Whole(1..=DAY_S),
        "With `ec2` workers: an instance ends after this long without work for its Session.",
    )
    .default("600"),
    aws(
        "aws.worker_unreachable_s",
        Type::Whole(1..=DAY_S),
        "With `ec2` workers: an instance that can't reach table and bucket for this long ends.",
    )
    .default("300"),
    aws(
        "aws.usd_per_1000_hours",
        Type::Whole(0..=100_000_000),
        "With `ec2` workers: what 1,000 hours of an instance cost you, for `runs list --machines`. 0: not known.",
    )
    .default("0"),
    api(
        "base_url",
        Type::BaseUrl,
        "With `api`: where the server is, its version included, such as `https://agents.example.com/v1`.",
    ),
    api(
        "key_env",
        Type::VariableName,
        "With `api`: variable that holds the access key. Never the key itself.",
    ),
    api(
        "key_file",
        Type::Path,
        "With `api`: file that holds the access key, and that nobody else can read.",
    ),
    api(
        "key_command",
        Type::Command,
        "With `api`: program that prints the access key.",
    ),
    api(
        "ca_file",
        Type::Path,
        "With `api`: certificates (PEM) of the authorities that are trusted instead of the system's.",
    ),
    api(
        "timeout_s",
        Type::Whole(1..=3_600),
        "With `api`: how long a request may take, with all its repetitions.",
    )
    .default("30"),
    profile(
        "data_dir",
        Type::Path,
        "Directory of all data; made private (mode 0700).",
    )
    .otherwise("`$XDG_STATE_HOME/rat-things`")
    .env("RAT_THINGS_DATA_DIR")
    .flag("--data-dir"),
    profile(
        "read_only",
        Type::Bool,
        "Refuse every command that would change something.",
    )
    .default("false")
    .env("RAT_THINGS_READ_ONLY")
    .flag("--read-only")
    .every(),
    profile(
        "harness",
        Type::OneOf(&["responses", "codex"]),
        "What drives the agent, if its Agent names nothing: `responses`, a loop of our own over the model; `codex`, OpenAI's Codex, which has to be installed.",
    )
    .default("responses")
    .env("RAT_THINGS_HARNESS"),
    profile("codex.program", Type::Path, "Codex: its binary or its npm package.")
        .otherwise("looked up in `PATH`"),
    profile(
        "mcp.private_hosts",
        Type::Texts(host_pattern),
        "Hosts of MCP servers (`host`, `host:port`, `*.domain`) that agents may use though their addresses are not public.",
    ),
    profile(
        "provider.kind",
        Type::OneOf(&["demo", "responses"]),
        "`demo` works offline and only pretends; `responses` calls a Responses-API model.",
    )
    .default("demo")
    .env("RAT_THINGS_PROVIDER"),
    profile(
        "provider.base_url",
        Type::BaseUrl,
        "Where the Responses API is; `/responses` is added.",
    )
    .default("https://api.openai.com/v1")
    .env("RAT_THINGS_BASE_URL"),
    profile(
        "provider.api_key_env",
        Type::VariableName,
        "Variable that holds the provider's key. Never the key itself.",
    )
    .default("OPENAI_API_KEY"),
    profile(
        "provider.api_key_command",
        Type::Command,
        "Program that prints the key, instead of a variable.",
    ),
    aws(
        "provider.api_key_secret",
        Type::Text,
        "With `aws`: name of the secret in Secrets Manager that holds the key, below the deployment's: `<deployment>/…`.",
    ),
    profile(
        "provider.model",
        Type::Text,
        "Model of Sessions that name neither a model nor an Agent.",
    )
    .env("RAT_THINGS_MODEL")
    .every(),
    profile(
        "provider.timeout_ms",
        Type::Whole(1_000..=DAY_MS),
        "Longest silence of the provider during a model call.",
    )
    .default("300000"),
    profile(
        "provider.max_retries",
        Type::Whole(0..=100),
        "Repetitions of a model call that failed for a passing reason.",
    )
    .default("5"),
    profile(
        "sandbox.isolation",
        Type::OneOf(&["sandbox", "unsafe-none"]),
        "`unsafe-none` lets an agent's commands do whatever you can do.",
    )
    .default("sandbox"),
    profile(
        "sandbox.network",
        Type::OneOf(&["disabled", "restricted", "enabled"]),
        "What commands reach: nothing, `allowed_domains`, or every public address.",
    )
    .default("disabled"),
    profile(
        "sandbox.allowed_domains",
        Type::Texts(host_pattern),
        "With `restricted`: hosts that commands reach (`host`, `host:port`, `*.domain`).",
    ),
    profile(
        "sandbox.env",
        Type::Texts(variable_name),
        "Variables of yours that commands see, by name.",
    ),
    profile(
        "sandbox.memory_bytes",
        Type::Whole(16 << 20..=1 << 50),
        "Memory of all processes of an environment together.",
    )
    .default("4294967296"),
    profile(
        "sandbox.pids",
        Type::Whole(8..=1 << 22),
        "Processes and threads of an environment.",
    )
    .default("1024"),
    profile(
        "sandbox.cpu_seconds",
        Type::Whole(1..=31_536_000),
        "CPU time of any one process.",
    )
    .default("3600"),
    profile(
        "sandbox.file_bytes",
        Type::Whole(1 << 10..=1 << 50),
        "Largest file that a command can write.",
    )
    .default("4294967296"),
    profile("sandbox.bwrap", Type::Path, "bubblewrap.").otherwise("looked up in `PATH`"),
    profile(
        "daemon.idle_exit_ms",
        Type::Whole(0..=365 * DAY_MS),
        "A daemon that was started by itself leaves after this long without work.",
    )
    .default("600000"),
    profile(
        "daemon.grace_ms",
        Type::Whole(0..=DAY_MS),
        "Time that running Turns get when a daemon is stopped.",
    )
    .default("30000"),
    profile(
        "daemon.workers",
        Type::Whole(1..=1_024),
        "Worker processes at most.",
    )
    .default("4"),
    profile(
        "daemon.runs_per_worker",
        Type::Whole(1..=4_096),
        "Turns that one worker process runs at once.",
    )
    .default("16"),
    profile(
        "daemon.autostart",
        Type::Bool,
        "Start a daemon in the background when there is work and none runs.",
    )
    .default("true")
    .env("RAT_THINGS_NO_AUTOSTART")
    .flag("--no-autostart"),
    profile(
        "daemon.listen",
        Type::Address,
        "Where every daemon serves the Agents API over HTTP.",
    )
    .flag("--listen"),
    profile(
        "daemon.no_auth",
        Type::Bool,
        "Serve everybody on this machine as you, without access keys.",
    )
    .default("false")
    .flag("--no-auth"),
    profile(
        "daemon.tls_cert",
        Type::Path,
        "PEM file of the certificate to serve with, followed by those that vouch for it.",
    )
    .flag("--tls-cert"),
    profile(
        "daemon.tls_key",
        Type::Path,
        "PEM file of the certificate's private key, not encrypted.",
    )
    .flag("--tls-key"),
    profile(
        "daemon.requests_per_second",
        Type::Whole(0..=1_000_000),
        "Requests of each access key that says nothing else; twice as many at once. 0: no limit. With `no_auth` only if set.",
    )
    .default("100"),
    profile(
        "limits.turn_attempts",
        Type::Whole(1..=1_000),
        "Workers that may be lost over one Turn before it fails.",
    )
    .default("5"),
    profile(
        "limits.model_calls_per_turn",
        Type::Whole(1..=1_000_000),
        "Model calls of one Turn; one more fails it.",
    )
    .default("200"),
    profile(
        "limits.lease_ms",
        Type::Whole(1_000..=DAY_MS),
        "A worker that is silent for this long is asked about, and ended if it still lives.",
    )
    .default("30000"),
    profile(
        "limits.recovery",
        Type::OneOf(&["continue", "fail"]),
        "What happens to a Turn whose worker was lost.",
    )
    .default("continue"),
    ui(
        "color",
        Type::OneOf(&["auto", "always", "never"]),
        "When to use colour.",
    )
    .default("auto")
    .env("NO_COLOR")
    .flag("--color"),
    ui(
        "glyphs",
        Type::OneOf(&["unicode", "ascii"]),
        "Which characters rat-things draws with.",
    )
    .otherwise("from the locale"),
    ui(
        "images",
        Type::OneOf(&["auto", "kitty", "iterm2", "sixel", "blocks", "words"]),
        "How the screen shows images: as pixels in the way that the terminal takes them, as half blocks, or in words. `auto` goes by what the terminal says of itself.",
    )
    .default("auto"),
    ui(
        "keys",
        Type::Texts(key_binding),
        "Other keys for the screen, `PLACE.ACTION=KEY KEY` or `=none` each; docs/keys.md has the names.",
    ),
    ui(
        "mouse",
        Type::Bool,
        "The screen takes the mouse: the wheel scrolls, a click selects. Terminals then select text only with Shift.",
    )
    .default("false"),
    ui(
        "time",
        Type::OneOf(&["relative", "local", "utc"]),
        "How times are shown to people.",
    )
    .default("relative"),
];

/// The key at `path` of a scope's table, in a profile of this kind.
pub(super) fn find(scope: Scope, kind: &str, path: &str) -> Option<&'static Key> {
    KEYS.iter()
        .find(|key| key.scope == scope && key.is_of(kind) && key.path == path)
}

/// Every variable that overrides a key: its name, the key, and what the key is for.
pub fn variables() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    KEYS.iter()
        .filter_map(|key| Some((key.env?, key.name(), key.meaning)))
        // What a variable that says no does is not what its key is for.
        .map(|(name, key, meaning)| match name {
            "RAT_THINGS_NO_AUTOSTART" => (name, key, "1: start no daemon by itself."),
            "NO_COLOR" => (name, key, "Anything: no colour."),
            _ => (name, key, meaning),
        })
}

/// The word that was probably meant, if one is near enough.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .map(|candidate| (strsim::damerau_levenshtein(&word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_variables_are_unique() {
        let names: HashSet<_> = KEYS.iter().map(Key::name).collect();
        assert_eq!(names.len(), KEYS.len());
        let variables: Vec<_> = KEYS.iter().filter_map(|key| key.env).collect();
        assert_eq!(
            variables.iter().collect::<HashSet<_>>().len(),
            variables.len()
        );
        // Colour is switched off by the variable that every program knows.
        assert!(
            variables
                .iter()
                .all(|name| name.starts_with("RAT_THINGS_") || *name == "NO_COLOR")
        );
    }

    #[test]
    fn every_default_is_a_value_that_its_key_accepts() {
        for key in KEYS {
            if let Some(default) = key.default {
                assert!(key.kind.of_text(default).is_ok(), "{}", key.name());
            }
        }
    }

    #[test]
    fn paths_have_at_most_two_parts() {
        // The reader of the file goes one table deep.
        assert!(KEYS.iter().all(|key| key.path.split('.').count() <= 2));
    }

    #[test]
    fn the_nearest_word_is_found_only_when_it_is_near() {
        let words = || ["base_url", "model", "kind"].into_iter();
        assert_eq!(nearest("baseurl", words()), Some("base_url"));
        assert_eq!(nearest("modle", words()), Some("model"));
        assert_eq!(nearest("Kind", words()), Some("kind"));
        assert_eq!(nearest("temperature", words()), None);
    }
}
