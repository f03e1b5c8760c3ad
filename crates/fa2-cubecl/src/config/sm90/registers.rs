//! How the warpgroups of a cube share out the registers of a multiprocessor.

use crate::config::sm90::WARPGROUP;

/// Registers of a multiprocessor.
const REGISTERS: u32 = 64 * 1024;
/// Most registers of a thread.
const MAX_REGISTERS: u32 = 255;
/// What a warpgroup changes its threads' registers by.
const REGISTER_STEP: u32 = 8;

/// Registers of a thread of a cube of `warpgroups` when it starts: an equal share, in steps.
#[must_use]
pub(crate) const fn launched(warpgroups: u32) -> u32 {
    REGISTERS / (warpgroups * WARPGROUP) / REGISTER_STEP * REGISTER_STEP
}

/// Registers of a thread, by what its warpgroup does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RegisterSplit {
    /// Warpgroups that compute; one more loads.
    pub warpgroups: u32,
    /// Of a thread that computes.
    pub computing: u32,
    /// Of a thread of the warpgroup that loads.
    pub loading: u32,
}

impl RegisterSplit {
    /// The split that leaves a thread that loads no more than it needs. One warpgroup that computes leaves all
    /// that a thread can have.
    #[must_use]
    pub(crate) const fn new(warpgroups: u32) -> Self {
        let loading = match warpgroups {
            1 => MAX_REGISTERS,
            2 => 24,
            _ => 32,
        };
        Self::with_loading(warpgroups, loading)
    }

    /// The split that leaves a thread that loads `loading`. Those that compute have an equal share of the rest,
    /// in steps, and no more than a thread can have.
    ///
    /// The rest is of what the cube was launched with. A warpgroup that claimed more would wait for ever.
    #[must_use]
    pub(crate) const fn with_loading(warpgroups: u32, loading: u32) -> Self {
        let all = warpgroups + 1;
        let left = all * launched(all) - loading;
        let share = left / warpgroups / REGISTER_STEP * REGISTER_STEP;
        let computing = if share < MAX_REGISTERS {
            share
        } else {
            MAX_REGISTERS
        };
        Self {
            warpgroups,
            computing,
            loading,
        }
    }
}
