//! After the gates: what they left in the tree is nobody's work.

use super::{Error, Locked};

impl Locked {
    /// Brings the tree back to the commit that the work was collected as. Ignored files stay, as they do everywhere: they
    /// are caches. Without a change since, no git runs.
    pub fn discard(&self) -> Result<(), Error> {
        let Some(mut state) = self.load()? else { return Err(Error::NotPrepared { path: self.dir.clone() }) };
        match self.look_at_tree()? {
            None => return Err(Error::guardrail(super::collect::REPLACED)),
            Some(tree) if state.has_tree(&tree) => return Ok(()),
            Some(_) => {}
        }
        self.clear_stale_locks()?;
        let doing = "take away what the gates left";
        let head = state.facts.head.clone();
        self.call_in_tree("read-tree")
            .args(["--reset", "-u", head.as_str()])
            .run()
            .map_err(Error::git(doing))?;
        self.call_in_tree("clean").args(["-ffdq"]).run().map_err(Error::git(doing))?;
        if let Some(tree) = self.look_at_tree()? {
            state.saw_tree(tree.settle(&self.dir));
        }
        self.store(&mut state)
    }
}
