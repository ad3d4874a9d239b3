//! Parse, run, turn the outcome into an exit code; nothing else.

fn main() -> std::process::ExitCode {
    rat_things::cli::main()
}
