//! The `tierscope-agent` binary.

fn main() -> std::process::ExitCode {
    tierscope_agent::cli::main()
}
