//! What the API gives and takes about tasks. These types are the contract; stored forms may change without them.

use std::collections::BTreeMap;

use acquit_core::time::Timestamp;
use serde_json::Value;

use super::schema::{Schema, Schemas, answer, input};
use crate::words;

/// A moment, as RFC 3339 has it.
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
    /// What is on it.
    pub items: Vec<T>,
    /// The `cursor` of the next page; null at the end.
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
        /// Its id.
        id: String,
        /// What is wanted.
        title: String,
        /// The repository's short name.
        project: String,
        /// The workflow.
        workflow: String,
        /// ready, working, cancelling, waiting, blocked, done, failed, no_improvement or cancelled.
        state: String,
        /// The stage where it stands; null when it is over.
        stage: Option<String>,
        /// Higher runs first.
        priority: i32,
        /// How many legs it had.
        legs: u32,
        /// What its ended legs cost, in millionths of a dollar; null if no price is known.
        cost_micros: Option<u64>,
        /// When it was created.
        created: Moment,
        /// When it changed last.
        updated: Moment,
    }

    /// A task in full.
    Task {
        /// Its id.
        id: String,
        /// What is wanted.
        title: String,
        /// The rest of what is wanted.
        description: String,
        /// The repository.
        project: Project,
        /// The workflow.
        workflow: String,
        /// working, cancelling, waiting, blocked, done, failed, no_improvement or cancelled.
        state: String,
        /// Why it failed, or who cancelled it.
        reason: Option<String>,
        /// The stage where it stands; null when it is over.
        stage: Option<String>,
        /// What waits for a person.
        request: Option<Request>,
        /// Higher runs first.
        priority: i32,
        /// Words to find it by.
        tags: Vec<String>,
        /// How large it is, by somebody's guess.
        size: Option<String>,
        /// How hard it is, by somebody's guess.
        complexity: Option<String>,
        /// Anything else that was kept with it.
        metadata: BTreeMap<String, String>,
        /// The branch that it works on.
        branch: String,
        /// The base branch; null if it began at a commit.
        base_branch: Option<String>,
        /// The commit that the work stands on.
        base: String,
        /// The newest commit of the work.
        tip: String,
        /// Budgets: how often each kind of failure happened.
        spent: BTreeMap<String, u32>,
        /// What was left behind.
        artifacts: Vec<Artifact>,
        /// What people said.
        conversation: Vec<Remark>,
        /// Its legs, oldest first.
        legs: Vec<Leg>,
        /// What each gate said last.
        gates: Vec<Gate>,
        /// What its legs cost, in millionths of a dollar; null if no price is known.
        cost_micros: Option<u64>,
        /// When it was created.
        created: Moment,
        /// Counts its changes.
        version: u64,
        /// Warnings about what was just done; empty for a task that was only looked at.
        notices: Vec<String>,
    }

    /// A repository.
    Project {
        /// Its short name.
        name: String,
        /// Its path on the server.
        path: String,
    }

    /// What waits for a person.
    Request {
        /// Its number within the task. Name it when you answer, so that you answer what you saw.
        number: u32,
        /// question, choice, approval, stage, budget or stuck.
        kind: String,
        /// The stage at which the task stands.
        stage: String,
        /// The question in words.
        question: String,
        /// The questions one by one, where there are several or one with options.
        questions: Vec<Question>,
        /// What can be chosen, of a choice or a stage.
        options: Vec<String>,
        /// The commit that an approval is for.
        commit: String,
        /// Where the task continues.
        resume: String,
    }

    /// One question.
    Question {
        /// The question.
        question: String,
        /// text, choice or yes_no.
        kind: String,
        /// What can be chosen.
        options: Vec<Choice>,
        /// The option that the agent would take.
        recommended: Option<String>,
        /// What one must know to answer.
        context: String,
    }

    /// An option of a question.
    Choice {
        /// What it is called.
        name: String,
        /// What it means and what it costs.
        trade_offs: String,
    }

    /// A task that waits for a person.
    InboxItem {
        /// The task.
        task: String,
        /// What is wanted.
        title: String,
        /// The repository.
        project: Project,
        /// The workflow.
        workflow: String,
        /// What is asked.
        request: Request,
    }

    /// Something that a person said.
    Remark {
        /// Who.
        by: String,
        /// What they were asked.
        question: Option<String>,
        /// What they said.
        text: String,
        /// Whether it was said at the forge.
        at_forge: bool,
    }

    /// One attempt at one stage.
    Leg {
        /// Counts from 1 within the task.
        number: u32,
        /// The stage.
        stage: String,
        /// work, fix, recheck, merge or resolve.
        purpose: String,
        /// ready, running, passed, rejected, failed, timed_out, cancelled, lost or held.
        state: String,
        /// The outcome that it reported.
        outcome: Option<String>,
        /// Why it did not pass.
        trouble: Option<String>,
        /// Not to be started before this moment.
        not_before: Moment,
        /// When it was started.
        started: Option<Moment>,
        /// When it ended.
        ended: Option<Moment>,
        /// The model that was asked.
        model: Option<String>,
        /// All tokens that it used.
        tokens: u64,
        /// What it cost, in millionths of a dollar; null if no price is known.
        cost_micros: Option<u64>,
    }

    /// What a gate said, with its evidence.
    Gate {
        /// The gate.
        gate: String,
        /// Whether the work passed.
        passed: bool,
        /// error or warning.
        severity: String,
        /// What was run.
        command: String,
        /// How it ended.
        ended: String,
        /// How long it took, in milliseconds.
        took_ms: u64,
        /// What is to be mended.
        failure: Option<String>,
        /// What was counted.
        figures: BTreeMap<String, String>,
        /// What was found.
        findings: Vec<Finding>,
        /// Tests that failed without the change and pass with it.
        red_to_green: Vec<String>,
    }

    /// Something that a gate found.
    Finding {
        /// What it does to the verdict.
        weight: String,
        /// The rule.
        rule: String,
        /// What was found.
        message: String,
        /// Where: `path:line`.
        location: Option<String>,
    }

    /// Something that a leg left behind.
    Artifact {
        /// Its place in the list, by which its content is read.
        index: u32,
        /// plan, branch, merged, commits, diff, file, report, pushed or pull_request.
        kind: String,
        /// What it is called.
        name: String,
        /// A line about it.
        about: String,
        /// Its page at a forge.
        url: Option<String>,
        /// Whether its content can be read.
        readable: bool,
    }

    /// An entry of the history.
    Event {
        /// Increases with every event of the store. The cursor and the `Last-Event-ID` of the stream.
        seq: i64,
        /// The task.
        task: String,
        /// The leg.
        leg: Option<u32>,
        /// When.
        at: Moment,
        /// Who: a person, `supervisor` or `harness T-1.2`.
        actor: String,
        /// task, leg, agent or gate.
        category: String,
        /// What happened, as a word.
        kind: String,
        /// debug, info, warning or error.
        level: String,
        /// What happened, in a sentence.
        summary: String,
    }

    /// Something that an agent said or did.
    Line {
        /// Where it begins in the leg's output.
        offset: u64,
        /// text, thinking, tool_use, tool_result, limit, end, denied, fault, report or raw.
        kind: String,
        /// The tool.
        name: Option<String>,
        /// Whether it went well, where that is known.
        ok: Option<bool>,
        /// What was said.
        text: String,
    }
}
