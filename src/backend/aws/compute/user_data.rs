//! User data: what a machine does from its first minute to its last. A small script without any secret.

use super::names::token_of;
use crate::engine::ports::RunGrant;

/// What every machine of a deployment is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// The configuration file of the worker.
    pub config_toml: String,
    /// Variables that it needs beside the machine's own: where AWS is, if it is elsewhere.
    pub env: Vec<(String, String)>,
    /// Words before the options that name what the machine is for: the command of the worker.
    pub command: Vec<String>,
}

impl Boot {
    /// The script for one grant: it fetches the program from `address`, runs the worker, and ends the machine, whatever happens.
    pub(super) fn script(&self, grant: &RunGrant, address: &str, sha256: &str) -> String {
        let env: String = { self.env.iter() }
            .map(|(name, value)| format!("export {name}={}\n", quoted(value)))
            .collect();
        let token = token_of(&grant.execution).unwrap_or_default();
        let words = ["--session", &grant.session, "--execution", token];
        let command: Vec<String> = { self.command.iter().map(String::as_str) }
            .chain(words)
            .map(quoted)
            .collect();
        let configuration = data_encoding::BASE64.encode(self.config_toml.as_bytes());
        FRAME
            .replace("@ENV@", &env)
            .replace("@CONFIGURATION@", &configuration)
            .replace("@SHA256@", sha256)
            .replace("@ADDRESS@", &quoted(address))
            .replace("@COMMAND@", &command.join(" "))
    }
}

/// What is the same on every machine. The trap is there before anything can fail: a machine never outlives its worker.
const FRAME: &str = r#"#!/bin/sh
# Written by rat-things: runs one worker, and ends this machine with it.
set -u
umask 077
the_end() {
  code=$?
  echo "rat-things: the worker ended with $code; the machine ends"
  sync
  shutdown -h now || poweroff -f
}
trap the_end EXIT
trap 'exit 143' TERM
root=/opt/rat-things
mkdir -p "$root" /etc/rat-things /var/lib/rat-things || exit 1
export HOME=/root RAT_THINGS_CONFIG_DIR=/etc/rat-things
@ENV@echo '@CONFIGURATION@' | base64 -d > /etc/rat-things/config.toml || exit 1
fetched=no
for pause in 1 2 4 8 16 0; do
  if curl -fsS --connect-timeout 10 --max-time 300 -o "$root/program" @ADDRESS@ &&
    echo "@SHA256@  $root/program" | sha256sum -c - > /dev/null; then
    fetched=yes
    break
  fi
  sleep "$pause"
done
if [ "$fetched" = no ]; then
  echo "rat-things: the program could not be fetched, or is not the one that was meant"
  exit 1
fi
chmod 0755 "$root" "$root/program" || exit 1
mv "$root/program" "$root/rat-things" || exit 1
if ! command -v bwrap > /dev/null 2>&1; then
  if command -v dnf > /dev/null 2>&1; then
    timeout 120 dnf -q -y install bubblewrap
  elif command -v apt-get > /dev/null 2>&1; then
    timeout 120 sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install bubblewrap'
  fi || echo "rat-things: bubblewrap could not be installed; commands of agents are refused without it"
fi
umask 022
"$root/rat-things" @COMMAND@ &
worker=$!
trap 'kill -TERM $worker' TERM
wait $worker
code=$?
# A signal ends the first wait before the worker has ended.
while kill -0 $worker 2> /dev/null; do
  wait $worker
  code=$?
done
exit $code
"#;

/// One word of a shell.
fn quoted(word: impl AsRef<str>) -> String {
    format!("'{}'", word.as_ref().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::super::names::fresh;
    use super::*;

    fn script() -> String {
        let boot = Boot {
            config_toml: "[profile.worker]\nkind = \"aws\" # it's 'quoted'\n".to_owned(),
            env: vec![("AWS_REGION".to_owned(), "eu'west".to_owned())],
            command: vec![
                "--profile".to_owned(),
                "worker".to_owned(),
                "machine".to_owned(),
            ],
        };
        let grant = RunGrant {
            session: "sess_a".to_owned(),
            generation: 1,
            execution: fresh([9; 26]),
        };
        boot.script(&grant, "https://b.example/bin/x?a=1&b='2'", "abc")
    }

    #[test]
    fn the_script_is_one_that_a_shell_reads() {
        let mut shell = Command::new("sh")
            .args(["-n", "-c", &script()])
            .stderr(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        assert!(shell.wait().expect("it ends").success());
    }

    #[test]
    fn nothing_is_left_to_fill_in_and_it_fits() {
        let script = script();
        for name in ["ENV", "CONFIGURATION", "SHA256", "ADDRESS", "COMMAND"] {
            assert!(!script.contains(&format!("@{name}@")), "{name}");
        }
        assert!(script.len() < 4 << 10, "{}", script.len());
        assert!(script.contains(r"export AWS_REGION='eu'\''west'"));
    }

    #[test]
    fn the_trap_stands_before_anything_can_fail() {
        let script = script();
        let trap = script.find("trap the_end EXIT").expect("a trap");
        let first = script.find("|| exit").expect("something can fail");
        assert!(trap < first);
    }
}
