//! The kernels behind one face: what the suite checks and the benchmark times.

use burn_fa2::Strategy;
use clap::ValueEnum;
use cubecl::client::Client;
use fa2_cubecl::{FwdPlan, FwdSm90Plan, FwdTensors, Problem, QuerySums};
use fa2_cute::KernelInfo;
use std::fmt;

/// An implementation of the forward, as a command-line value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// The CubeCL kernel for SM80 and up.
    Cubecl,
    /// The CubeCL kernels for SM90.
    Hopper,
    /// The CUDA C++ kernel.
    Cute,
}

impl EngineArg {
    /// The path's name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubecl => "cubecl",
            Self::Hopper => "hopper",
            Self::Cute => "cute",
        }
    }

    /// The ways in which its backward sums up dQ, the default first.
    #[must_use]
    pub fn query_sums(self) -> &'static [QuerySums] {
        match self {
            Self::Cubecl => &[QuerySums::Atomic, QuerySums::Owned],
            Self::Hopper => &[QuerySums::Atomic, QuerySums::Ordered, QuerySums::Owned],
            Self::Cute => &[],
        }
    }

    /// How the op on it sums up dQ where it is to be deterministic.
    #[must_use]
    pub fn deterministic_sums(self) -> QuerySums {
        match self {
            Self::Hopper => QuerySums::Ordered,
            Self::Cubecl | Self::Cute => QuerySums::Owned,
        }
    }

    /// What forces the op onto it.
    #[must_use]
    pub fn strategy(self) -> Strategy {
        match self {
            Self::Cubecl => Strategy::CubeCl,
            Self::Hopper => Strategy::Hopper,
            Self::Cute => Strategy::Cute,
        }
    }

    /// The kernel that its own heuristics choose.
    #[must_use]
    pub fn chosen(self) -> Engine {
        match self {
            Self::Cubecl => Engine::CubeCl(None),
            Self::Hopper => Engine::Hopper(None),
            Self::Cute => Engine::Cute(None),
        }
    }
}

/// How the backward sums up dQ, as a command-line value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QuerySumsArg {
    /// Key blocks add in no particular order.
    Atomic,
    /// Key blocks add one after the other, which the kernels for SM90 can.
    Ordered,
    /// A pass of its own sums up.
    Owned,
}

impl From<QuerySumsArg> for QuerySums {
    fn from(sums: QuerySumsArg) -> Self {
        match sums {
            QuerySumsArg::Atomic => Self::Atomic,
            QuerySumsArg::Ordered => Self::Ordered,
            QuerySumsArg::Owned => Self::Owned,
        }
    }
}

/// A way to run the forward; `None` leaves the choice to its heuristics.
#[derive(Clone, Copy, Debug)]
pub enum Engine {
    /// The CubeCL kernel under a plan.
    CubeCl(Option<FwdPlan>),
    /// The CubeCL kernels for SM90 under a plan.
    Hopper(Option<FwdSm90Plan>),
    /// A general kernel of the fatbin.
    Cute(Option<&'static KernelInfo>),
}

impl Engine {
    /// Which of them.
    #[must_use]
    pub fn arg(self) -> EngineArg {
        match self {
            Self::CubeCl(_) => EngineArg::Cubecl,
            Self::Hopper(_) => EngineArg::Hopper,
            Self::Cute(_) => EngineArg::Cute,
        }
    }

    /// Enqueues a forward pass and returns what runs, its choice made.
    ///
    /// # Errors
    /// The engine's own, as text.
    pub fn launch(
        self,
        client: &Client,
        problem: &Problem,
        tensors: &FwdTensors,
    ) -> Result<Self, String> {
        match self {
            Self::CubeCl(plan) => fa2_cubecl::forward(client, problem, tensors.clone(), plan)
                .map(|plan| Self::CubeCl(Some(plan)))
                .map_err(|error| error.to_string()),
            Self::Hopper(plan) => fa2_cubecl::forward_sm90(client, problem, tensors.clone(), plan)
                .map(|plan| Self::Hopper(Some(plan)))
                .map_err(|error| error.to_string()),
            Self::Cute(kernel) => fa2_cute::launch::forward(client, problem, tensors, kernel)
                .map(|choice| Self::Cute(Some(choice.kernel)))
                .map_err(|error| error.to_string()),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CubeCl(Some(plan)) => write!(f, "{}, section {}", plan.config, plan.section),
            Self::Hopper(Some(plan)) => {
                write!(f, "{}, section {}", plan.config, plan.section)?;
                match plan.cubes {
                    Some(cubes) => write!(f, ", {cubes} cubes"),
                    None => Ok(()),
                }
            }
            Self::Cute(Some(kernel)) => f.write_str(kernel.name),
            Self::CubeCl(None) | Self::Hopper(None) | Self::Cute(None) => {
                write!(f, "{} chosen", self.arg().name())
            }
        }
    }
}

/// Whether `engine` can run: what this build holds, on a GPU of compute capability `sm`.
#[must_use]
pub fn is_there(engine: EngineArg, sm: u32) -> bool {
    match engine {
        EngineArg::Cubecl => true,
        EngineArg::Hopper => sm == 90,
        EngineArg::Cute => has_cute(),
    }
}

/// Those of `asked`, or, where none is, all that this build has and a GPU of compute capability `sm` runs.
pub fn asked_or_there(asked: &[EngineArg], sm: u32) -> impl Iterator<Item = EngineArg> + '_ {
    EngineArg::value_variants()
        .iter()
        .copied()
        .filter(move |engine| match asked.is_empty() {
            true => is_there(*engine, sm),
            false => asked.contains(engine),
        })
}

/// Whether this build holds the CUDA C++ kernels.
#[must_use]
pub fn has_cute() -> bool {
    fa2_cute::kernels().iter().any(|kernel| kernel.is_built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hopper_is_there_on_its_capability_alone_and_where_it_is_asked_for() {
        let there = |sm| asked_or_there(&[], sm).any(|engine| engine == EngineArg::Hopper);
        assert!(there(90));
        assert!(![80, 89, 100, 120].into_iter().any(there));
        let asked: Vec<_> = asked_or_there(&[EngineArg::Hopper], 80).collect();
        assert_eq!(asked, [EngineArg::Hopper]);
    }
}
