//! Command-line values that the programs share: element type, mask, tile, plan.

use clap::{Args, ValueEnum};
use fa2_cubecl::{
    Alignment, BwdTile, ConfigError, Dtype, FwdConfig, FwdSm90Config, FwdSm90Tile, Loads, Mask,
    MaskKind, Problem, Rescale, RowCopy, Tile, Turns,
};
use std::str::FromStr;

/// Element type, as a command-line value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DtypeArg {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl From<DtypeArg> for Dtype {
    fn from(dtype: DtypeArg) -> Self {
        match dtype {
            DtypeArg::F16 => Self::F16,
            DtypeArg::Bf16 => Self::Bf16,
        }
    }
}

/// A tile as `BLOCK_M,BLOCK_N,WARPS,STAGES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileArg(pub Tile);

impl FromStr for TileArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[block_m, block_n, warps, stages]) => Ok(Self(Tile {
                block_m,
                block_n,
                warps,
                stages,
            })),
            _ => Err(format!(
                "{text:?} is not BLOCK_M,BLOCK_N,WARPS,STAGES, such as 128,64,4,2"
            )),
        }
    }
}

/// A tile of the kernels for SM90 as `BLOCK_M,BLOCK_N,STAGES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sm90TileArg(pub FwdSm90Tile);

impl FromStr for Sm90TileArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[block_m, block_n, stages]) => Ok(Self(FwdSm90Tile {
                block_m,
                block_n,
                stages,
            })),
            _ => Err(format!(
                "{text:?} is not BLOCK_M,BLOCK_N,STAGES, such as 128,128,2"
            )),
        }
    }
}

impl Sm90TileArg {
    /// As the backward of `columns` columns has it: blocks of 64 rows are those of warpgroups that share keys
    /// where one can't have them alone.
    #[must_use]
    pub fn backward(self, columns: u32) -> BwdTile {
        let FwdSm90Tile {
            block_m,
            block_n,
            stages,
        } = self.0;
        let shared = BwdTile::shared_keys(stages);
        match columns > 128 && (block_m, block_n) == (shared.block_m, shared.block_n) {
            true => shared,
            false => BwdTile::warpgroups(block_m, block_n, stages),
        }
    }
}

/// Who loads in the backward kernels for SM90, as a command-line value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadsArg {
    /// A warpgroup of its own.
    Warpgroup,
    /// One of the threads that compute.
    Thread,
}

impl LoadsArg {
    /// As the configuration has it.
    #[must_use]
    pub fn loads(self) -> Loads {
        match self {
            Self::Warpgroup => Loads::Warpgroup,
            Self::Thread => Loads::Thread,
        }
    }
}

/// The order of warpgroups, as a command-line value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TurnsArg {
    /// One after the other.
    Ordered,
    /// S one after the other.
    Scores,
    /// As they come.
    Free,
}

impl TurnsArg {
    /// As the configuration has it.
    #[must_use]
    pub fn turns(self) -> Turns {
        match self {
            Self::Ordered => Turns::Ordered,
            Self::Scores => Turns::Scores,
            Self::Free => Turns::Free,
        }
    }
}

/// A softmax, as a command-line value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SoftmaxArg {
    /// The exponent base moves when it must.
    Lazy,
    /// The article's: it moves with every block.
    Eager,
}

impl SoftmaxArg {
    /// As the configuration has it.
    #[must_use]
    pub fn rescale(self) -> Rescale {
        match self {
            Self::Lazy => Rescale::Lazy,
            Self::Eager => Rescale::Eager,
        }
    }

    /// `config` with this softmax.
    #[must_use]
    pub fn apply(self, config: FwdConfig) -> FwdConfig {
        config.with_rescale(self.rescale())
    }
}

/// A kernel configuration on the command line.
#[derive(Clone, Copy, Debug, Args)]
pub struct ConfigArgs {
    /// Element type.
    #[arg(long, value_enum, default_value = "f16")]
    pub dtype: DtypeArg,
    /// Head size, 8 to 256 in steps of 8.
    #[arg(long, default_value_t = 64)]
    pub d: u32,
    /// Causal mask.
    #[arg(long)]
    pub causal: bool,
    /// Force a tile: BLOCK_M,BLOCK_N,WARPS,STAGES. Without it the heuristics choose.
    #[arg(long)]
    pub tile: Option<TileArg>,
    /// The same for the kernels for SM90, of forward or backward: BLOCK_M,BLOCK_N,STAGES.
    #[arg(long)]
    pub sm90_tile: Option<Sm90TileArg>,
    /// Who loads in the backward of these kernels.
    #[arg(long, value_enum)]
    pub loads: Option<LoadsArg>,
    /// The order of their warpgroups in the forward instead of the chosen one.
    #[arg(long, value_enum)]
    pub turns: Option<TurnsArg>,
    /// The article's copies: four lanes a row.
    #[arg(long)]
    pub half_row: bool,
    /// The softmax.
    #[arg(long, value_enum, default_value = "lazy")]
    pub softmax: SoftmaxArg,
}

impl ConfigArgs {
    /// The mask.
    #[must_use]
    pub fn mask(&self) -> Mask {
        if self.causal {
            Mask::Causal(Alignment::BottomRight)
        } else {
            Mask::None
        }
    }

    /// The configuration for a GPU with `shared_bytes` of shared memory a cube.
    ///
    /// # Errors
    /// The rule that the values break.
    pub fn config(&self, gpu: fa2_cubecl::Gpu) -> Result<FwdConfig, ConfigError> {
        let config = match self.tile {
            Some(TileArg(tile)) => {
                FwdConfig::new(self.dtype.into(), self.d, MaskKind::from(self.mask()), tile)?
            }
            None => fa2_cubecl::choose(&self.problem(), gpu)?.config,
        };
        let config = self.softmax.apply(config);
        if self.half_row {
            config.with_row_copy(RowCopy::HalfRow)
        } else {
            Ok(config)
        }
    }

    /// The configuration of the kernels for SM90.
    ///
    /// # Errors
    /// The rule that the values break.
    pub fn sm90(&self) -> Result<FwdSm90Config, ConfigError> {
        let config = match self.sm90_tile {
            Some(Sm90TileArg(tile)) => {
                let mask = MaskKind::from(self.mask());
                FwdSm90Config::new(self.dtype.into(), self.d, mask, tile)?
            }
            None => fa2_cubecl::choose_sm90(&self.problem())?.config,
        };
        let config = config.with_rescale(self.softmax.rescale());
        Ok(match self.turns {
            Some(turns) => config.with_turns(turns.turns()),
            None => config,
        })
    }

    /// A problem of the configuration's kind; its lengths are the benchmark's middle.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let heads = 2048 / self.d as usize;
        Problem {
            batch: 4,
            heads_q: heads,
            heads_kv: heads,
            seq_q: 4096,
            seq_k: 4096,
            head_dim: self.d as usize,
            dtype: self.dtype.into(),
            mask: self.mask(),
            scale: (self.d as f32).sqrt().recip(),
        }
    }
}
