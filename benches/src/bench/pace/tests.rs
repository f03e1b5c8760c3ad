//! The protocol over pipes in memory, with numbers in the place of rounds.

use super::*;
use crate::bench::BenchArgs;
use anyhow::bail;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use fa2_cubecl::{Alignment, Dtype, Mask};
use std::cell::Cell;
use std::io::{BufReader, Read};

const READY: &str =
    r#"ready {"dtype":"bf16","b":2,"h":8,"hkv":4,"sq":512,"sk":1024,"d":64,"causal":true}"#;

fn shape() -> Shape {
    Shape::from(&Problem {
        batch: 2,
        heads_q: 8,
        heads_kv: 4,
        seq_q: 512,
        seq_k: 1024,
        head_dim: 64,
        dtype: Dtype::Bf16,
        mask: Mask::Causal(Alignment::BottomRight),
        scale: 0.125,
    })
}

/// What one shape leaves: how it ended, what it answered, and the numbers of its rounds.
fn told(commands: &mut &[u8]) -> (Result<()>, String, Vec<usize>) {
    let (mut answers, mut rounds) = (Vec::new(), Vec::new());
    let result = Pace::Told.drive(&shape(), (commands, &mut answers), |round| {
        rounds.push(round);
        Ok(())
    });
    let answers = String::from_utf8(answers).expect("answers are text");
    (result, answers, rounds)
}

fn why(result: Result<()>) -> PaceError {
    let error = result.expect_err("the shape has no times");
    error.downcast().expect("it is the pace's error")
}

#[test]
fn each_told_round_is_timed_once_and_answered() {
    let (result, answers, rounds) = told(&mut b"round\nround\nround\nnext\n".as_slice());
    result.expect("all is said by the protocol");
    assert_eq!(answers, format!("{READY}\ndone\ndone\ndone\n"));
    assert_eq!(rounds, [0, 1, 2]);
}

#[test]
fn next_leaves_what_follows_to_the_next_shape() {
    let mut commands = b"round\nround\nnext\nround\nnext\n".as_slice();
    let (first, _, rounds) = told(&mut commands);
    first.expect("the first shape is whole");
    assert_eq!(rounds, [0, 1]);
    let (second, answers, rounds) = told(&mut commands);
    second.expect("so is the second");
    assert_eq!(answers, format!("{READY}\ndone\n"));
    assert_eq!(rounds, [0]);
    assert!(commands.is_empty());
}

/// Both pipes of a conductor that says a word only when it has read the answer to its last one.
struct Conductor {
    words: Cell<&'static [u8]>,
    has_answer: Cell<bool>,
}

impl Read for &Conductor {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        assert!(self.has_answer.get(), "both sides would wait");
        let mut words = self.words.get();
        let read = words.read(&mut bytes[..1])?;
        self.words.set(words);
        Ok(read)
    }
}

impl Write for &Conductor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_answer.set(false);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.has_answer.set(true);
        Ok(())
    }
}

#[test]
fn every_answer_is_sent_before_the_next_command_is_waited_for() {
    let conductor = Conductor {
        words: Cell::new(b"round\nround\nnext\n"),
        has_answer: Cell::new(false),
    };
    let pipes = (BufReader::new(&conductor), &conductor);
    let result = Pace::Told.drive(&shape(), pipes, |_| Ok(()));
    result.expect("all is said by the protocol");
    assert!(conductor.words.get().is_empty());
}

#[test]
fn a_line_that_is_no_command_is_named() {
    let (result, answers, rounds) = told(&mut b"round\nrounds 3\nnext\n".as_slice());
    let (shape, said) = (shape(), "rounds 3".into());
    assert_eq!(why(result), PaceError::Unknown { shape, said });
    assert_eq!(answers, format!("{READY}\ndone\n"));
    assert_eq!(rounds, [0]);
}

#[test]
fn input_that_ends_within_a_shape_is_an_error() {
    for commands in [b"".as_slice(), b"round\n"] {
        let (result, ..) = told(&mut { commands });
        assert_eq!(why(result), PaceError::Ended(shape()));
    }
}

#[test]
fn a_shape_without_a_round_is_an_error() {
    let (result, answers, _) = told(&mut b"next\n".as_slice());
    assert_eq!(why(result), PaceError::NoRound(shape()));
    assert_eq!(answers, format!("{READY}\n"));
    let pipes = (io::empty(), io::sink());
    let result = Pace::Rounds(0).drive(&shape(), pipes, |_| Ok(()));
    assert_eq!(why(result), PaceError::NoRound(shape()));
}

#[test]
fn a_round_that_fails_has_no_answer_and_ends_the_shape() {
    let mut answers = Vec::new();
    let pipes = (b"round\nround\nnext\n".as_slice(), &mut answers);
    let result = Pace::Told.drive(&shape(), pipes, |round| match round {
        0 => Ok(()),
        _ => bail!("the device is gone"),
    });
    let error = result.expect_err("its second round fails");
    assert_eq!(error.to_string(), "the device is gone");
    assert_eq!(answers, format!("{READY}\ndone\n").into_bytes());
}

#[test]
fn rounds_that_nobody_paces_leave_the_pipes_alone() {
    let (mut commands, mut answers) = (b"round\n".as_slice(), Vec::new());
    let mut rounds = Vec::new();
    let result = Pace::Rounds(3).drive(&shape(), (&mut commands, &mut answers), |round| {
        rounds.push(round);
        Ok(())
    });
    result.expect("nothing fails");
    assert_eq!(rounds, [0, 1, 2]);
    assert_eq!((commands, answers), (b"round\n".as_slice(), vec![]));
}

#[test]
fn paced_excludes_what_would_not_be_paced() {
    BenchArgs::command().debug_assert();
    let parse = |line: &str| BenchArgs::try_parse_from(line.split(' '));
    for line in [
        "fa2-bench forward --paced --rounds 3",
        "fa2-bench forward --paced --stock 4096",
        "fa2-bench backward --paced --rounds 3",
    ] {
        let error = parse(line).expect_err("they conflict");
        assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{line}");
    }
    for line in [
        "fa2-bench forward --paced --window-ms 2",
        "fa2-bench backward --paced --window-ms 2",
        "fa2-bench forward --rounds 3 --stock 4096",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}
