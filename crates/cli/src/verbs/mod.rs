//! The verbs of the command line, a file each.

pub mod acp;
pub mod agents;
pub mod config;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod feedback;
pub mod inbox;
pub mod init;
pub mod leg;
pub mod logs;
pub mod mcp;
pub mod merge;
pub mod outline;
pub mod prompt;
pub mod review;
pub mod run;
pub mod sandbox;
pub mod schedule;
pub mod schema;
pub mod scripted;
pub mod serve;
pub mod service;
pub mod task;
pub mod workflow;
