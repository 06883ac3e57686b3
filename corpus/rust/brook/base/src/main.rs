use std::process::ExitCode;

fn run(args: &[String]) -> Result<String, String> {
    let (command, path) = match args {
        [command, path, ..] => (command.as_str(), path),
        _ => return Err("usage: brook get|list FILE [KEY]".to_string()),
    };
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let settings = brook::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    match (command, args.get(2)) {
        ("get", Some(key)) => settings.get(key).map(|value| value + "\n").map_err(|error| error.to_string()),
        ("list", None) => settings.list().map_err(|error| error.to_string()),
        _ => Err("usage: brook get|list FILE [KEY]".to_string()),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(out) => {
            print!("{out}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("brook: {message}");
            ExitCode::FAILURE
        }
    }
}
