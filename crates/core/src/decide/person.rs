//! Decisions after human input: retries and answers.

use super::{Illegal, Next};
use crate::change::Change;
use crate::delivery::Comment;
use crate::failure::kind;
use crate::human_request::{Answer, Ask, HumanRequest};
use crate::ids::Name;
use crate::leg::{Ending, Entry, Past, Purpose};
use crate::outcome::{self, Outcome, Source};
use crate::task::Origin;
use crate::task::{Actor, End, Remark, State};
use crate::time::Span;
use crate::workflow::{Action, Consent, Target, Work};

impl Next<'_> {
    pub(super) fn retry(
        &mut self,
        by: Actor,
        stage: Option<Name>,
        note: Option<String>,
    ) -> Result<(), Illegal> {
        let entry = match (stage, &self.task.state, self.task.past.last()) {
            (Some(stage), _, _) => match self.workflow.stage(stage.as_str()) {
                Some(_) => Entry { stage, purpose: Purpose::Work },
                None => return Err(Illegal::NoStage(stage)),
            },
            (None, State::Waiting { request }, _) => request.resume.clone(),
            (None, State::Blocked { resume, .. }, _) => resume.clone(),
            (None, _, Some(past)) if !self.task.is_exhausted() => past.entry.clone(),
            (None, _, _) => Entry { stage: self.workflow.start.clone(), purpose: Purpose::Work },
        };
        if let Some(text) = note {
            self.push(Change::Remarked { remark: Remark { by, question: None, text, origin: None } });
        }
        self.push(Change::BudgetsReset);
        self.enter(entry);
        Ok(())
    }

    /// Handles comments on the task's pull request. New comments take the stage's `changes_requested` transition; its
    /// budget bounds how often.
    pub(super) fn feedback(&mut self, comments: Vec<Comment>) -> Result<(), Illegal> {
        let seen = |id: &str| {
            let mut origins = self.task.conversation.iter().filter_map(|remark| remark.origin.as_ref());
            origins.any(|origin| origin.id == id)
        };
        let new: Vec<Comment> = comments.into_iter().filter(|comment| !seen(&comment.id)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let publishes = |past: &&Past| {
            let stage = self.workflow.stage(past.entry.stage.as_str());
            let work = stage.map(|stage| &stage.work);
            matches!(work, Some(Work::Action { action: Action::Publish(_), .. }))
        };
        let published = self.task.past.iter().rev().find(publishes).map(|past| past.entry.clone());
        let entry = published.ok_or(Illegal::NoFeedback)?;
        if let State::Waiting { request } = &self.task.state
            && request.stage != entry.stage
        {
            return Err(Illegal::State { what: "take up comments", state: self.task.state.word() });
        }
        let wanted = Name::literal(outcome::CHANGES_REQUESTED);
        let transition = self.transition(&entry, &wanted).ok_or(Illegal::NoFeedback)?;
        let summary = format!("{} comments on the request", new.len());
        for comment in new {
            let about = comment.location.map(|place| format!("about line {} of {}", place.line, place.path));
            let remark = Remark {
                by: Actor::Person(comment.by),
                question: about,
                text: comment.text,
                origin: Some(Origin { id: comment.id, thread: comment.thread }),
            };
            self.push(Change::Remarked { remark });
        }
        let payload = serde_json::json!({ "summary": summary });
        self.follow(&entry, &transition, &Outcome { name: wanted, payload, source: Source::Harness });
        Ok(())
    }

    pub(super) fn answer(&mut self, open: &HumanRequest, by: Actor, answer: Answer) -> Result<(), Illegal> {
        let takes = |takes: &str| Err(Illegal::Answer { takes: takes.to_owned() });
        let entry = open.resume.clone();
        let said = Change::RequestAnswered { request: open.number, by, answer: answer.clone() };
        match (&open.ask, answer) {
            (Ask::Approval { to }, Answer::Approve) => {
                self.push(said);
                match to {
                    // Approval was just given, so don't ask again on entering.
                    Target::Stage(stage)
                        if *stage == entry.stage && self.consent(&entry) == Consent::BeforeIt =>
                    {
                        self.ready(entry, Span::from(0));
                    }
                    other => self.go(&entry, other, &self.ended_with(&entry, "approved")),
                }
            }
            (Ask::Stage { outcomes }, Answer::Choose { option }) => {
                let Some(name) = outcomes.iter().find(|name| name.as_str() == option).cloned() else {
                    return takes(&format!("one of {}", join(outcomes)));
                };
                self.push(said);
                self.passed(
                    &entry,
                    &Outcome { name, payload: serde_json::json!({}), source: Source::Harness },
                );
            }
            (Ask::Stage { outcomes }, answer @ (Answer::Approve | Answer::Reject { .. })) => {
                let (word, reason) = match &answer {
                    Answer::Reject { reason } => ("rejected", Some(reason.as_str())),
                    Answer::Approve | Answer::Choose { .. } | Answer::Text { .. } | Answer::Each { .. } => {
                        ("approved", None)
                    }
                };
                if !outcomes.iter().any(|name| name.as_str() == word) {
                    return takes(&format!("one of {}", join(outcomes)));
                }
                self.push(said);
                self.passed(&entry, &by_person(word, reason));
            }
            (Ask::Choice { options }, Answer::Choose { option }) => {
                let Some(target) = options.iter().find(|target| target.to_string() == option) else {
                    return takes(&format!("one of {}", join(options)));
                };
                self.push(said);
                self.go(&entry, target, &self.ended_with(&entry, "chosen"));
            }
            // Free text is always accepted, even if there are options: a person may know a better way.
            (Ask::Question { .. }, Answer::Text { .. }) => {
                self.push(said);
                self.ready(entry, Span::from(0));
            }
            (Ask::Question { questions }, Answer::Each { answers }) => {
                let blank = answers.iter().any(|answer| answer.trim().is_empty());
                if answers.len() != questions.len() || blank {
                    return takes(&format!("{} answers, one for each question", questions.len()));
                }
                self.push(said);
                self.ready(entry, Span::from(0));
            }
            // Allow one more attempt only; budgets stay spent.
            (Ask::Budget { .. } | Ask::Stuck, Answer::Approve | Answer::Text { .. }) => {
                self.push(said);
                if self.is_out_of_allowance() {
                    self.push(Change::AllowanceRenewed);
                }
                self.enter(entry);
            }
            (Ask::Approval { to }, Answer::Reject { reason }) => {
                self.push(said);
                if let Some(entry) = self.sent_back(&entry, to) {
                    self.enter(entry);
                } else {
                    self.push(Change::Ended { end: End::rejected(&reason) });
                }
            }
            (
                Ask::Choice { .. } | Ask::Question { .. } | Ask::Budget { .. } | Ask::Stuck,
                Answer::Reject { reason },
            ) => {
                self.push(said);
                self.push(Change::Ended { end: End::rejected(&reason) });
            }
            (Ask::Approval { .. }, Answer::Choose { .. } | Answer::Text { .. } | Answer::Each { .. }) => {
                return takes("approve or reject");
            }
            (Ask::Stage { outcomes }, Answer::Text { .. } | Answer::Each { .. }) => {
                return takes(&format!("one of {}", join(outcomes)));
            }
            (Ask::Choice { options }, Answer::Approve | Answer::Text { .. } | Answer::Each { .. }) => {
                return takes(&format!("one of {}", join(options)));
            }
            (Ask::Question { questions }, Answer::Choose { option }) => {
                let options = questions.iter().flat_map(|question| &question.options);
                let names: Vec<&str> = options.map(|choice| choice.name.as_str()).collect();
                match questions.as_slice() {
                    [_] if names.contains(&option.as_str()) => {
                        self.push(said);
                        self.ready(entry, Span::from(0));
                    }
                    [_] if !names.is_empty() => return takes(&format!("words, or one of {}", join(&names))),
                    _ => return takes("an answer in words"),
                }
            }
            (Ask::Question { .. }, Answer::Approve) => return takes("an answer in words"),
            (Ask::Budget { .. } | Ask::Stuck, Answer::Choose { .. } | Answer::Each { .. }) => {
                return takes("approve, reject or words");
            }
        }
        Ok(())
    }

    /// Returns whether the last leg ended because a money or time limit was used up.
    fn is_out_of_allowance(&self) -> bool {
        let last = self.task.past.last().map(|past| &past.ending);
        matches!(last, Some(Ending::Failed { kind, .. }) if *kind == *kind::SPENT)
    }

    /// Returns the work to repeat when a person rejects the step from a stage to `to`: the stage itself, if an agent
    /// can take the person's reason into account. `None` if rejecting ends the task.
    pub(super) fn sent_back(&self, entry: &Entry, to: &Target) -> Option<Entry> {
        let begins = Target::Stage(entry.stage.clone());
        if *to == begins && self.consent(entry) == Consent::BeforeIt {
            return None;
        }
        let stage = self.workflow.stage(entry.stage.as_str())?;
        let purpose = match &entry.purpose {
            Purpose::Recheck { .. } => Purpose::Work,
            other => other.clone(),
        };
        matches!(stage.work, Work::Agent(_)).then(|| Entry { stage: entry.stage.clone(), purpose })
    }

    /// Returns the outcome of the stage for which a person was asked where to go. The reason for going there is the
    /// stage's, not the person's consent. If no leg reported an outcome, `word` is used.
    fn ended_with(&self, entry: &Entry, word: &'static str) -> Outcome {
        match self.task.past.last() {
            Some(past) if past.entry.stage == entry.stage => match &past.ending {
                Ending::Passed { outcome } => outcome.clone(),
                other => by_person(outcome::FAILED, other.trouble().as_deref()),
            },
            Some(_) | None => by_person(word, None),
        }
    }
}

fn by_person(name: &'static str, reason: Option<&str>) -> Outcome {
    let payload = reason.map_or_else(|| serde_json::json!({}), |text| serde_json::json!({ "summary": text }));
    Outcome { name: Name::literal(name), payload, source: Source::Harness }
}

fn join<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
