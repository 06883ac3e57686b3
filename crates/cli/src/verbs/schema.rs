//! `acquit schema`: the forms of acquit's files, for editors.

use crate::args::Form;
use crate::desk::Desk;
use crate::exit::Exit;

/// Prints the JSON Schema of a kind of file, as its reader has it.
pub fn schema(desk: &Desk, form: Form) -> Exit {
    desk.printer.json(&match form {
        Form::Config => acquit_core::config::schema(),
        Form::Workflow => acquit_core::workflow::schema(),
    });
    Exit::Done
}
