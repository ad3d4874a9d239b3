//! The options of every command that choose a profile and override its settings.

use std::path::PathBuf;

use clap::Args;

use crate::cli::out::ColorChoice;

/// Which profile, and what to do differently from it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Profile")]
pub struct ConfigArgs {
    /// Profile of the configuration file [env: RAT_THINGS_PROFILE]
    #[arg(short = 'P', long, value_name = "NAME", global = true)]
    pub profile: Option<String>,

    /// Directory of all data [env: RAT_THINGS_DATA_DIR]
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,

    /// Refuse every command that would change something [env: RAT_THINGS_READ_ONLY]
    #[arg(long, global = true)]
    pub read_only: bool,

    /// Do not start a background daemon [env: RAT_THINGS_NO_AUTOSTART]
    #[arg(long, global = true)]
    pub no_autostart: bool,

    /// Where all of AWS is, such as an emulator; for a profile of an account
    #[arg(long, value_name = "URL", global = true)]
    pub endpoint_url: Option<String>,
}

/// What the command line says; it wins over everything else.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--profile`
    pub profile: Option<String>,
    /// `--data-dir`
    pub data_dir: Option<PathBuf>,
    /// `--read-only`
    pub read_only: bool,
    /// `--no-autostart`
    pub no_autostart: bool,
    /// `--endpoint-url`
    pub endpoint_url: Option<String>,
    /// `--color`
    pub color: Option<ColorChoice>,
}

impl ConfigArgs {
    /// These options and the one that belongs to the output.
    pub fn overrides(&self, color: Option<ColorChoice>) -> Overrides {
        Overrides {
            profile: self.profile.clone(),
            data_dir: self.data_dir.clone(),
            read_only: self.read_only,
            no_autostart: self.no_autostart,
            endpoint_url: self.endpoint_url.clone(),
            color,
        }
    }
}
