//! The report file: newest first, each report once, replaced atomically.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::Error;

/// Maximum size. Beyond it, the oldest reports are cut off. It holds years of nights, and an editor can still open it.
const LONGEST: usize = 2 * 1024 * 1024;

/// Inserts a report at the top, unless it is there.
pub(super) fn add(path: &Path, key: &str, text: &str) -> Result<(), Error> {
    let file = |source| Error::File { path: path.to_owned(), source };
    let old = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(file(error)),
    };
    let mark = format!("<!-- acquit {} -->", key.replace("--", "- -"));
    if old.contains(&mark) {
        return Ok(());
    }
    let mut whole = format!("{}\n{mark}\n\n{old}", text.trim_end());
    if whole.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
        whole.truncate(whole[..end].rfind("\n## ").map_or(end, |at| at + 1));
    }
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(file)?;
    let new = new(path);
    let write = || -> std::io::Result<()> {
        let mut out = std::fs::File::create(&new)?;
        out.write_all(whole.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&new, path)
    };
    write().map_err(file)
}

/// Returns the temporary name of a file while it is written. It is in the same directory, so that it can replace the
/// old one in one step.
pub(super) fn new(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".acquit-new");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_added_once_the_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reports/night.md");
        add(&path, "night/1", "## one\n").unwrap();
        add(&path, "night/2", "## two\n").unwrap();
        add(&path, "night/1", "## one\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "## two\n<!-- acquit night/2 -->\n\n## one\n<!-- acquit night/1 -->\n\n");
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn a_file_that_grew_too_long_loses_its_oldest_reports() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("night.md");
        let report = format!("## report\n{}", "ü".repeat(LONGEST / 5));
        for number in 0..4 {
            add(&path, &number.to_string(), &report).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() <= LONGEST && text.matches("## report").count() == 2, "{}", text.len());
        assert!(text.contains("acquit 3 -->"));
    }
}
