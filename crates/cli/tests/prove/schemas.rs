//! The schemas of others, which `cargo xtask test` installs below the target folder, and the program that checks by them.

use std::path::{Path, PathBuf};
use std::process::Command;

use acquit_testkit::need;
use serde_json::Value;

/// Checks documents.
pub(crate) struct Check(PathBuf);

/// The check, if it is installed.
pub(crate) fn check(what: &str) -> Option<Check> {
    let test = std::env::current_exe().ok()?;
    let found = test.ancestors().map(|folder| folder.join("schemas"));
    let found = found.into_iter().find(|folder| folder.join("requirements.txt.stamp").is_file());
    need::or_skip(found, "schemas of others (`cargo xtask test` installs them)", what).map(Check)
}

impl Check {
    /// The schema of SARIF.
    pub(crate) fn sarif(&self) -> String {
        self.0.join("sarif-2.1.0.json").to_string_lossy().into_owned()
    }

    fn run(&self, args: &[&str], file: &Path) -> (bool, String) {
        let mut command = Command::new(self.0.join("python/bin/check-jsonschema"));
        let output = command.args(args).arg(file).output().unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        )
    }

    #[track_caller]
    pub(crate) fn must_fit(&self, args: &[&str], file: &Path) {
        let (fits, said) = self.run(args, file);
        assert!(fits, "{}: {said}", file.display());
    }

    #[track_caller]
    pub(crate) fn must_not_fit(&self, args: &[&str], file: &Path) {
        let (fits, said) = self.run(args, file);
        assert!(!fits && said.contains("validation errors"), "{}: {said}", file.display());
    }

    /// A document of YAML, as YAML reads it.
    pub(crate) fn yaml(&self, file: &Path) -> Value {
        const SCRIPT: &str = "import json, sys\nfrom ruamel.yaml import YAML\n\
            print(json.dumps(YAML(typ='safe', pure=True).load(open(sys.argv[1]))))";
        let mut command = Command::new(self.0.join("python/bin/python"));
        let output = command.args(["-c", SCRIPT]).arg(file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
