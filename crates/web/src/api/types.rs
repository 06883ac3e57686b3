//! Types of the API about tasks. They are the contract with clients; stored formats may change without them.

use std::collections::BTreeMap;

use acquit_core::time::Timestamp;
use serde_json::Value;

use super::schema::{Schema, Schemas, answer, input};
use crate::words;

/// A time in RFC 3339 format.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Moment(String);

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self(words::datetime(at))
    }
}

impl Schema for Moment {
    fn schema(_: &mut Schemas) -> Value {
        serde_json::json!({ "type": "string", "format": "date-time" })
    }
}

/// A page of a list.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Page<T> {
    /// Items of the page.
    pub items: Vec<T>,
    /// `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

impl<T: Schema> Schema for Page<T> {
    fn schema(all: &mut Schemas) -> Value {
        let items = Vec::<T>::schema(all);
        serde_json::json!({
            "type": "object", "required": ["items", "next"], "additionalProperties": false,
            "properties": { "items": items, "next": { "type": ["string", "null"], "description": "The cursor of the next page; null at the end." } },
        })
    }
}

input! {
    /// No parameters.
    Nothing {}
}

answer! {
    /// A task in short.
    TaskSummary {
        /// Task id.
        id: String,
        /// Title of the request.
        title: String,
        /// Short name of the repository.
        project: String,
        /// Workflow name.
        workflow: String,
        /// State: ready, working, cancelling, waiting, blocked, done, failed, no_improvement or cancelled.
        state: String,
        /// Current stage; null when the task has ended.
        stage: Option<String>,
        /// Priority. Higher runs first.
        priority: i32,
        /// Number of legs.
        legs: u32,
        /// Cost of the finished legs in millionths of a dollar; null if no price is known.
        cost_micros: Option<u64>,
        /// Creation time.
        created: Moment,
        /// Time of the last change.
        updated: Moment,
    }

    /// A task in full.
    Task {
        /// Task id.
        id: String,
        /// Title of the request.
        title: String,
        /// Description of the request.
        description: String,
        /// Repository.
        project: Project,
        /// Workflow name.
        workflow: String,
        /// State: working, cancelling, waiting, blocked, done, failed, no_improvement or cancelled.
        state: String,
        /// Why it failed, or who cancelled it.
        reason: Option<String>,
        /// Current stage; null when the task has ended.
        stage: Option<String>,
        /// Open request to a person.
        request: Option<Request>,
        /// Category that the work fell back to, such as `refactoring (fallback from tests)`; null if it did not.
        fallback: Option<String>,
        /// Priority. Higher runs first.
        priority: i32,
        /// Tags for filtering.
        tags: Vec<String>,
        /// Estimated size.
        size: Option<String>,
        /// Estimated complexity.
        complexity: Option<String>,
        /// Free-form data.
        metadata: BTreeMap<String, String>,
        /// Branch the task works on.
        branch: String,
        /// Base branch; null if the task started from a commit.
        base_branch: Option<String>,
        /// Commit the work is based on.
        base: String,
        /// Newest commit of the work.
        tip: String,
        /// Spent budgets: how often each kind of failure happened.
        spent: BTreeMap<String, u32>,
        /// Artifacts that legs produced.
        artifacts: Vec<Artifact>,
        /// Remarks of people.
        conversation: Vec<Remark>,
        /// Legs, oldest first.
        legs: Vec<Leg>,
        /// Newest verdict of each gate.
        gates: Vec<Gate>,
        /// Cost of the legs in millionths of a dollar; null if no price is known.
        cost_micros: Option<u64>,
        /// Creation time.
        created: Moment,
        /// Number of changes.
        version: u64,
        /// Warnings about the action just performed; empty if the task was only read.
        notices: Vec<String>,
    }

    /// A repository.
    Project {
        /// Short name.
        name: String,
        /// Path on the server.
        path: String,
    }

    /// An open request to a person.
    Request {
        /// Number within the task. Send it with the answer, so that you answer the request you saw.
        number: u32,
        /// Kind: question, choice, approval, stage, budget or stuck.
        kind: String,
        /// Current stage of the task.
        stage: String,
        /// The question as text.
        question: String,
        /// The individual questions, if there are several or one with options.
        questions: Vec<Question>,
        /// Options of a choice or a stage.
        options: Vec<String>,
        /// Commit to approve.
        commit: String,
        /// Stage where the task continues.
        resume: String,
    }

    /// One question.
    Question {
        /// The question as text.
        question: String,
        /// Kind: text, choice or yes_no.
        kind: String,
        /// Options to choose from.
        options: Vec<Choice>,
        /// Option the agent recommends.
        recommended: Option<String>,
        /// Background needed to answer.
        context: String,
    }

    /// An option of a question.
    Choice {
        /// Name of the option.
        name: String,
        /// Meaning and cost of the option.
        trade_offs: String,
    }

    /// A task that waits for a person.
    InboxItem {
        /// Task id.
        task: String,
        /// Title of the request.
        title: String,
        /// Repository.
        project: Project,
        /// Workflow name.
        workflow: String,
        /// The open request.
        request: Request,
    }

    /// Something a person said.
    Remark {
        /// Author.
        by: String,
        /// The question it answers.
        question: Option<String>,
        /// The text.
        text: String,
        /// Whether it was written at the forge.
        at_forge: bool,
    }

    /// One attempt at one stage.
    Leg {
        /// Number within the task, starting at 1.
        number: u32,
        /// Stage name.
        stage: String,
        /// Purpose: work, fix, recheck, merge or resolve.
        purpose: String,
        /// State: ready, running, passed, rejected, failed, timed_out, cancelled, lost or held.
        state: String,
        /// Outcome the leg reported.
        outcome: Option<String>,
        /// Why it did not pass.
        trouble: Option<String>,
        /// Earliest start time.
        not_before: Moment,
        /// Start time.
        started: Option<Moment>,
        /// End time.
        ended: Option<Moment>,
        /// Requested model.
        model: Option<String>,
        /// Total tokens.
        tokens: u64,
        /// Cost in millionths of a dollar; null if no price is known.
        cost_micros: Option<u64>,
    }

    /// The verdict of a gate, with its evidence.
    Gate {
        /// Gate name.
        gate: String,
        /// Whether the work passed.
        passed: bool,
        /// Severity: error or warning.
        severity: String,
        /// Command that ran.
        command: String,
        /// How the command ended.
        ended: String,
        /// Duration in milliseconds.
        took_ms: u64,
        /// What to fix.
        failure: Option<String>,
        /// Counts.
        figures: BTreeMap<String, String>,
        /// Findings.
        findings: Vec<Finding>,
        /// Tests that failed without the change and pass with it.
        red_to_green: Vec<String>,
    }

    /// A finding of a gate.
    Finding {
        /// Effect on the verdict.
        weight: String,
        /// Rule.
        rule: String,
        /// Description.
        message: String,
        /// Location as `path:line`.
        location: Option<String>,
    }

    /// An artifact that a leg produced.
    Artifact {
        /// Index in the list. Use it to read the content.
        index: u32,
        /// Kind: plan, branch, merged, commits, diff, file, report, pushed or pull_request.
        kind: String,
        /// Name.
        name: String,
        /// One-line description.
        about: String,
        /// URL at the forge.
        url: Option<String>,
        /// Whether its content can be read.
        readable: bool,
    }

    /// An event of the history.
    Event {
        /// Sequence number. Increases with every event of the store. Used as cursor and as `Last-Event-ID` of the
        /// stream.
        seq: i64,
        /// Task id.
        task: String,
        /// Leg number.
        leg: Option<u32>,
        /// Time.
        at: Moment,
        /// Who caused it: a person, `supervisor` or `harness T-1.2`.
        actor: String,
        /// Category: task, leg, agent or gate.
        category: String,
        /// Kind, as one word.
        kind: String,
        /// Level: debug, info, warning or error.
        level: String,
        /// Summary in one sentence.
        summary: String,
    }

    /// Something an agent said or did.
    Line {
        /// Byte offset in the leg's output.
        offset: u64,
        /// Kind: text, thinking, tool_use, tool_result, limit, end, denied, fault, report or raw.
        kind: String,
        /// Tool name.
        name: Option<String>,
        /// Whether it succeeded, if known.
        ok: Option<bool>,
        /// The text.
        text: String,
    }
}
