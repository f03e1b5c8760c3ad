//! The protocol of the ring, replayed on the host: copies land as late as the waits allow, and the
//! warps of a cube run apart as far as the barriers allow (claim P2).
//!
//! `Protocol::events` repeats the order of `KvPipeline` and of the kernel's step; the stages come
//! from the functions that the kernel calls. The same replay finds planted bugs.

use super::{next_stage, previous_stage};
use crate::config::FwdConfig;
use crate::config::tests::grid::article;
use std::collections::{BTreeMap, BTreeSet};

/// Q's tile, among the byte offsets of K and V blocks.
const Q: u32 = u32::MAX;
/// Blocks that are tried: several turns of every ring.
const MOST_BLOCKS: u32 = 20;

/// What a thread does, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Copy {
        buffer: u32,
        block: u32,
    },
    Commit,
    /// Until at most so many groups are in flight.
    Wait(u32),
    Barrier,
    Read {
        buffer: u32,
        block: u32,
    },
}

/// What a replay can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hazard {
    /// A copy may land after the read of its block.
    ReadInFlight,
    /// Another block lies there.
    ReadOfAnotherBlock,
    /// A warp may still read what is copied over.
    CopyOverRead,
}

/// A deviation from the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The last blocks wait for `stages - 2` groups in flight, as the others.
    TailKeepsThreshold,
    /// The refill goes to the stage that is read.
    RefillOfReadStage,
    /// No barrier after a wait.
    NoBarrier,
    /// Without a block Q's copy is in no group, so that no wait covers it.
    DrainWithoutCommit,
}

struct Protocol {
    config: FwdConfig,
    blocks: u32,
    bug: Bug,
}

impl Protocol {
    fn new(stages: u32, blocks: u32, bug: Bug) -> Self {
        Self {
            config: article(stages),
            blocks,
            bug,
        }
    }

    fn events(&self) -> Vec<Event> {
        let Self {
            config,
            blocks,
            bug,
        } = self;
        let (stages, blocks) = (config.stages(), *blocks);
        let v_offset = config.kv_bytes();
        let mut events = vec![Event::Copy {
            buffer: Q,
            block: 0,
        }];
        let copy_k = |stage, block| Event::Copy {
            buffer: stage,
            block,
        };
        let copy_v = |stage, block| Event::Copy {
            buffer: stage + v_offset,
            block,
        };
        let copy_block = |stage, block| [copy_k(stage, block), copy_v(stage, block), Event::Commit];

        // Prologue.
        if stages == 1 {
            if blocks > 0 {
                events.push(copy_k(0, 0));
            }
            events.push(Event::Commit);
        } else {
            for ahead in 0..(stages - 1).min(blocks) {
                events.extend(copy_block(ahead * config.stage_bytes(), ahead));
            }
        }

        let mut read = 0;
        for t in 0..blocks {
            // Acquire K.
            let ahead = stages - 1;
            let keeps = t + 1 < blocks || *bug == Bug::TailKeepsThreshold;
            events.push(Event::Wait(if ahead == 2 && keeps { ahead - 1 } else { 0 }));
            if *bug != Bug::NoBarrier {
                events.push(Event::Barrier);
            }
            if ahead == 0 {
                events.extend([copy_v(0, t), Event::Commit]);
            } else if t + ahead < blocks {
                let before = match bug {
                    Bug::RefillOfReadStage => read,
                    _ => stage_before(read, *config),
                };
                events.extend(copy_block(before, t + ahead));
            }
            events.push(Event::Read {
                buffer: Q,
                block: 0,
            });
            events.push(Event::Read {
                buffer: read,
                block: t,
            });
            // Acquire V.
            if stages == 1 {
                events.push(Event::Wait(0));
                if *bug != Bug::NoBarrier {
                    events.push(Event::Barrier);
                }
                if t + 1 < blocks {
                    events.extend([copy_k(0, t + 1), Event::Commit]);
                }
            }
            events.push(Event::Read {
                buffer: read + v_offset,
                block: t,
            });
            // Release.
            if stages > 1 {
                read = next_stage(read, *config);
            }
        }
        if blocks == 0 {
            if *bug != Bug::DrainWithoutCommit {
                events.push(Event::Commit);
            }
            events.extend([Event::Wait(0), Event::Barrier]);
        }
        // O goes over Q, whose copy must have landed.
        events.push(Event::Read {
            buffer: Q,
            block: 0,
        });
        events
    }

    fn replay(&self) -> Result<(), Hazard> {
        replay(&self.events())
    }
}

/// [`previous_stage`]: on the host both arms of its `select` are evaluated, and stage 0 minus a
/// stage overflows where that is checked.
fn stage_before(stage: u32, config: FwdConfig) -> u32 {
    if stage == 0 && cfg!(debug_assertions) {
        config.stage_bytes() * (config.stages() - 1)
    } else {
        previous_stage(stage, config)
    }
}

/// Where all threads of a cube do `events`, apart by at most a barrier.
fn replay(events: &[Event]) -> Result<(), Hazard> {
    // Of each buffer: the block last copied to it and the group of that copy.
    let mut buffers = BTreeMap::new();
    let mut read_since_barrier = BTreeSet::new();
    let (mut committed, mut waited, mut visible) = (0_u32, 0, 0);
    for event in events {
        match *event {
            Event::Copy { buffer, block } => {
                if read_since_barrier.contains(&buffer) {
                    return Err(Hazard::CopyOverRead);
                }
                buffers.insert(buffer, (block, committed));
            }
            Event::Commit => committed += 1,
            Event::Wait(pending) => waited = waited.max(committed.saturating_sub(pending)),
            Event::Barrier => {
                visible = waited;
                read_since_barrier.clear();
            }
            Event::Read { buffer, block } => {
                let Some(&(held, group)) = buffers.get(&buffer) else {
                    return Err(Hazard::ReadOfAnotherBlock);
                };
                if held != block {
                    return Err(Hazard::ReadOfAnotherBlock);
                }
                if group >= visible {
                    return Err(Hazard::ReadInFlight);
                }
                read_since_barrier.insert(buffer);
            }
        }
    }
    Ok(())
}

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
