//! `acquit completions`: prints a completion script. clap generates the static part; for bash, zsh and fish, a few
//! lines ask `acquit complete` for the rest.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::cli::Cli;
use crate::exit::Exit;

/// Start of the main function in clap's zsh script.
const ZSH: &str = "\n_acquit() {\n";
/// End of the zsh script, which calls or registers that function.
const ZSH_END: &str = "\nif [ \"$funcstack[1]\" = \"_acquit\" ]; then\n";

/// Prints the script.
pub fn completions(cli: &Cli, shell: Shell) -> Exit {
    cli.printer.raw(script(shell).as_bytes());
    Exit::Done
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "acquit", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => script + include_str!("../../completions/bash.sh"),
        Shell::Fish => script + include_str!("../../completions/fish.fish"),
        Shell::Zsh => {
            let script = script.replacen(ZSH, "\n_acquit_static() {\n", 1);
            let end = script.find(ZSH_END).unwrap_or(script.len());
            format!("{}\n{}", &script[..end], include_str!("../../completions/zsh.sh"))
        }
        _ => script,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_asks_acquit_for_what_only_it_knows() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            assert!(script(shell).contains("acquit complete -- "), "{shell}");
        }
        let zsh = script(Shell::Zsh);
        assert_eq!(zsh.matches(ZSH).count(), 1, "one function, ours");
        assert_eq!(zsh.matches(ZSH_END).count(), 1, "one end, ours");
        assert!(zsh.contains("\n_acquit_static() {\n"));
    }
}
