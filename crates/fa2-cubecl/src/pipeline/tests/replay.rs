//! A host replay of the ring: copies land as late as the waits allow, and the warps of a cube run
//! apart as far as the barriers allow.
//!
//! `Protocol::events` repeats the order of `KvPipeline` and of the kernel's step; the stages come
//! from the functions that the kernel calls.

use crate::config::FwdConfig;
use crate::config::tests::grid::article;
use crate::pipeline::{next_stage, previous_stage};
use std::collections::{BTreeMap, BTreeSet};

/// Q's tile, among the byte offsets of K and V blocks.
pub(super) const Q: u32 = u32::MAX;

/// What a thread does, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
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
pub(super) enum Hazard {
    /// A copy may land after the read of its block.
    ReadInFlight,
    /// Another block lies there.
    ReadOfAnotherBlock,
    /// A warp may still read what is copied over.
    CopyOverRead,
}

/// A deviation from the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
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

pub(super) struct Protocol {
    pub(super) config: FwdConfig,
    blocks: u32,
    bug: Bug,
}

impl Protocol {
    pub(super) fn new(stages: u32, blocks: u32, bug: Bug) -> Self {
        Self {
            config: article(stages),
            blocks,
            bug,
        }
    }

    pub(super) fn events(&self) -> Vec<Event> {
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

    pub(super) fn replay(&self) -> Result<(), Hazard> {
        replay(&self.events())
    }
}

/// [`previous_stage`]: on the host both arms of its `select` are evaluated, and stage 0 minus a
/// stage overflows where that is checked.
pub(super) fn stage_before(stage: u32, config: FwdConfig) -> u32 {
    if stage == 0 && cfg!(debug_assertions) {
        config.stage_bytes() * (config.stages() - 1)
    } else {
        previous_stage(stage, config)
    }
}

/// Where all threads of a cube do `events`, apart by at most a barrier.
pub(super) fn replay(events: &[Event]) -> Result<(), Hazard> {
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
