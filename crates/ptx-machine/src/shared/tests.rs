//! Records by unit say what records by byte say.

use super::*;
use proptest::prelude::*;

const BYTES: usize = 64;
const WARPS: usize = 3;

/// One step of some warp: an access of `1 << size_log2` words, or a meeting of all warps.
#[derive(Clone, Copy, Debug)]
enum Step {
    Access {
        kind: Kind,
        warp: usize,
        lane: usize,
        word: usize,
        size_log2: u32,
    },
    Meet,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    Write,
    Start,
    Finish,
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        Just(Kind::Read),
        Just(Kind::Write),
        Just(Kind::Start),
        Just(Kind::Finish)
    ];
    let access = (kind, 0..WARPS, 0..3_usize, 0..BYTES / 4, 0..3_u32).prop_map(
        |(kind, warp, lane, word, size_log2)| Step::Access {
            kind,
            warp,
            lane,
            word,
            size_log2,
        },
    );
    prop_oneof![6 => access, 1 => Just(Step::Meet)]
}

/// The clocks of all warps, which meet at the same time.
struct Clocks {
    time: u32,
    known: [u32; WARPS],
}

/// What each access finds and reads, with units of `unit` bytes.
fn run(steps: &[Step], unit: usize) -> Vec<(Option<ViolationKind>, Vec<u8>)> {
    let mut memory = SharedMemory::new(BYTES, WARPS, unit);
    let mut clocks = Clocks {
        time: 1,
        known: [0; WARPS],
    };
    let mut results = Vec::new();
    for step in steps {
        match *step {
            Step::Meet => {
                clocks.known = [clocks.time; WARPS];
                clocks.time += 1;
            }
            Step::Access {
                kind,
                warp,
                lane,
                word,
                size_log2,
            } => {
                let size = 4 << size_log2;
                let at = word * 4 / size * size;
                let mut data = vec![results.len() as u8; size];
                let mut found = None;
                let stamp = Stamp {
                    warp,
                    lane,
                    time: clocks.time,
                    known: &clocks.known,
                };
                match kind {
                    Kind::Read => memory.read(at, &mut data, stamp, &mut found),
                    Kind::Write => memory.write(at, &data, stamp, &mut found),
                    Kind::Start => memory.start_copy(at, size, stamp, &mut found),
                    Kind::Finish => memory.finish_copy(at, &data, stamp),
                }
                results.push((found, data));
            }
        }
    }
    results
}

proptest! {
    #[test]
    fn units_find_what_bytes_find(steps in prop::collection::vec(step(), 1..60)) {
        prop_assert_eq!(run(&steps, 4), run(&steps, 1));
    }
}

/// The sequences above do find faults of every kind.
#[test]
fn each_fault_is_found() {
    let access = |kind, warp| Step::Access {
        kind,
        warp,
        lane: 0,
        word: 0,
        size_log2: 0,
    };
    let last = |steps: &[Step]| run(steps, 4).pop().and_then(|(found, _)| found);
    let (read, write) = (access(Kind::Read, 0), access(Kind::Write, 0));
    assert_eq!(last(&[read]), Some(ViolationKind::UninitializedMemory));
    assert_eq!(last(&[write, read]), None);
    assert_eq!(
        last(&[write, access(Kind::Read, 1)]),
        Some(race("write", (0, 1 << LANE_BITS), "read"))
    );
    assert_eq!(last(&[write, Step::Meet, access(Kind::Read, 1)]), None);
    assert_eq!(
        last(&[write, read, Step::Meet, read, access(Kind::Start, 1)]),
        Some(race("read", (0, 2 << LANE_BITS), "copy"))
    );
    let start = access(Kind::Start, 0);
    let access = "second copy";
    assert_eq!(
        last(&[start, start]),
        Some(ViolationKind::InFlight { access })
    );
}
