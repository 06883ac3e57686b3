//! Arguments of `acquit token`.

use acquit_web::access::Role;
use clap::Subcommand;

/// Subcommands of `acquit token`.
#[derive(Subcommand, Debug)]
pub enum TokenVerb {
    /// Make a token and print it. It is shown once; only its hash is kept.
    #[command(
        after_help = "Examples:\n  acquit token add laptop --role operator\n  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:4664/api/v1/tasks"
    )]
    Add {
        /// Who uses it: lowercase letters, digits, `-`, `_`, `.` and `@`.
        name: String,
        /// What it allows: viewer, operator or admin.
        #[arg(long, value_parser = role)]
        role: Role,
    },
    /// List tokens by name, with their roles.
    List,
    /// Remove a token. Whoever uses it is out at once, also in browsers.
    Remove {
        /// Its name.
        name: String,
    },
}

fn role(text: &str) -> Result<Role, &'static str> {
    Role::from_name(text).ok_or("must be viewer, operator or admin")
}
