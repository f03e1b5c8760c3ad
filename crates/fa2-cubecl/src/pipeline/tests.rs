//! Every block is read after its copy and before its refill (claim P2), and the same replay finds
//! planted bugs.

mod replay;

use super::next_stage;
use crate::config::tests::grid::article;
use replay::{Bug, Event, Hazard, Protocol, Q, replay, stage_before};

/// Blocks that are tried: several turns of every ring.
const MOST_BLOCKS: u32 = 20;

#[test]
fn p2_every_block_is_read_after_its_copy_and_before_its_refill() {
    for stages in 1..=3 {
        for blocks in 0..=MOST_BLOCKS {
            let protocol = Protocol::new(stages, blocks, Bug::None);
            assert_eq!(
                protocol.replay(),
                Ok(()),
                "{stages} stages, {blocks} blocks"
            );
        }
    }
}

#[test]
fn p2_every_block_of_k_and_v_is_copied_and_read_exactly_once_in_order() {
    for stages in 1..=3 {
        for blocks in 0..=MOST_BLOCKS {
            let protocol = Protocol::new(stages, blocks, Bug::None);
            let v_offset = protocol.config.kv_bytes();
            let is_v = |buffer: u32| buffer % protocol.config.stage_bytes() == v_offset;
            for v in [false, true] {
                let events = protocol.events();
                let reads = events.iter().filter_map(|event| match *event {
                    Event::Read { buffer, block } if buffer != Q && is_v(buffer) == v => {
                        Some(block)
                    }
                    _ => None,
                });
                assert!(reads.eq(0..blocks));
                let copies = events.iter().filter_map(|event| match *event {
                    Event::Copy { buffer, block } if buffer != Q && is_v(buffer) == v => {
                        Some(block)
                    }
                    _ => None,
                });
                assert!(copies.eq(0..blocks));
            }
        }
    }
}

#[test]
fn p2_the_prologue_fills_all_stages_but_one_or_all_blocks() {
    for stages in 2..=3 {
        for blocks in 0..=MOST_BLOCKS {
            let events = Protocol::new(stages, blocks, Bug::None).events();
            let before_loop = if blocks == 0 {
                &events[..1]
            } else {
                &events[..]
            };
            let groups = before_loop
                .iter()
                .take_while(|event| !matches!(event, Event::Wait(_)))
                .filter(|event| **event == Event::Commit)
                .count();
            assert_eq!(groups as u32, blocks.min(stages - 1));
        }
    }
}

#[test]
fn p2_read_prefetch_and_wait_are_the_articles_formulas() {
    for stages in 2..=3 {
        for blocks in 1..=MOST_BLOCKS {
            let protocol = Protocol::new(stages, blocks, Bug::None);
            let stage_bytes = protocol.config.stage_bytes();
            let mut waits = Vec::new();
            for event in protocol.events() {
                match event {
                    Event::Read { buffer, block } | Event::Copy { buffer, block }
                        if buffer != Q =>
                    {
                        assert_eq!(buffer / stage_bytes, block % stages);
                    }
                    Event::Wait(pending) => waits.push(pending),
                    _ => {}
                }
            }
            let formula = (0..blocks).map(|t| (blocks - t - 1).min(stages - 2));
            assert!(
                waits.into_iter().eq(formula),
                "{stages} stages, {blocks} blocks"
            );
        }
    }
}

#[test]
fn p2_a_tail_that_keeps_the_steady_threshold_reads_a_block_too_early() {
    for blocks in 1..=MOST_BLOCKS {
        let protocol = Protocol::new(3, blocks, Bug::TailKeepsThreshold);
        assert_eq!(
            protocol.replay(),
            Err(Hazard::ReadInFlight),
            "{blocks} blocks"
        );
    }
    // With two stages the threshold is 0 anyway.
    assert_eq!(
        Protocol::new(2, 5, Bug::TailKeepsThreshold).replay(),
        Ok(())
    );
}

#[test]
fn a_refill_of_the_stage_that_is_read_is_found() {
    for stages in 2..=3 {
        for blocks in stages..=MOST_BLOCKS {
            let protocol = Protocol::new(stages, blocks, Bug::RefillOfReadStage);
            assert_eq!(protocol.replay(), Err(Hazard::ReadOfAnotherBlock));
        }
    }
}

#[test]
fn a_missing_barrier_is_found() {
    for stages in 1..=3 {
        let protocol = Protocol::new(stages, 5, Bug::NoBarrier);
        assert_eq!(protocol.replay(), Err(Hazard::ReadInFlight));
    }
    // Copies that were waited for may still go over what a slower warp reads.
    let copy = Event::Copy {
        buffer: 0,
        block: 0,
    };
    let land = [copy, Event::Commit, Event::Wait(0), Event::Barrier];
    let refill = [
        Event::Read {
            buffer: 0,
            block: 0,
        },
        Event::Copy {
            buffer: 0,
            block: 1,
        },
    ];
    assert_eq!(
        replay(&[&land[..], &refill].concat()),
        Err(Hazard::CopyOverRead)
    );
}

/// `cp.async.wait_group` waits for committed groups only. Without a block the prologue of several
/// stages commits none, so Q's copy must be committed before O goes over it.
#[test]
fn a_drain_without_a_commit_leaves_the_copy_of_q_in_flight() {
    for stages in 2..=3 {
        let protocol = Protocol::new(stages, 0, Bug::DrainWithoutCommit);
        assert_eq!(protocol.replay(), Err(Hazard::ReadInFlight));
    }
    // One stage always commits in its prologue.
    assert_eq!(
        Protocol::new(1, 0, Bug::DrainWithoutCommit).replay(),
        Ok(())
    );
}

#[test]
fn next_and_previous_stage_go_round_the_ring() {
    for stages in 2..=3 {
        let config = article(stages);
        for stage in 0..stages {
            let offset = stage * config.stage_bytes();
            let next = (stage + 1) % stages * config.stage_bytes();
            assert_eq!(next_stage(offset, config), next);
            assert_eq!(stage_before(next, config), offset);
        }
    }
}
