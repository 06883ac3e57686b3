//! `acquit schema`: prints the JSON Schema of acquit's files, for editors.

use crate::args::Form;
use crate::cli::Cli;
use crate::exit::Exit;

/// Prints the schema of a kind of file, as its reader defines it.
pub fn schema(cli: &Cli, form: Form) -> Exit {
    cli.printer.json(&match form {
        Form::Config => acquit_core::config::schema(),
        Form::Workflow => acquit_core::workflow::schema(),
    });
    Exit::Done
}
