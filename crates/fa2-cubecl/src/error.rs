//! What can be wrong before a launch: one variant per rule, with the value and the rule.

/// Why a forward pass was not launched.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fa2Error {
    /// A size that must not be zero is.
    #[error("{name} is 0, but an attention problem needs at least 1")]
    Empty {
        /// The size's name.
        name: &'static str,
    },
    /// A size does not fit the kernel's counters or the grid.
    #[error("{name} is {value}, but the kernel serves at most {limit}")]
    TooLarge {
        /// The size's name.
        name: &'static str,
        /// Its value.
        value: usize,
        /// The largest.
        limit: usize,
    },
    /// No compiled head size holds this one.
    #[error("head_dim is {0}, but the kernel serves 8 to 256 in steps of 8 (pad the rest)")]
    HeadDim(usize),
    /// Query heads can't be shared out evenly among the key/value heads.
    #[error("heads_q is {heads_q}, which is not a multiple of heads_kv, {heads_kv}")]
    Heads {
        /// Query heads.
        heads_q: usize,
        /// Key and value heads.
        heads_kv: usize,
    },
    /// The scale is applied after the row maximum, which needs a positive one.
    #[error("scale is {0}, but the kernel needs a finite scale above 0")]
    Scale(f32),
    /// A row does not start at a multiple of 16 bytes.
    #[error("{tensor}: {what} is {value}, but 16-byte copies need a multiple of {multiple} {unit}")]
    Alignment {
        /// The operand.
        tensor: &'static str,
        /// The stride or offset.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The rule.
        multiple: u64,
        /// Unit of value and multiple.
        unit: &'static str,
    },
    /// An operand's strides reach past the memory behind its handle.
    #[error("{tensor} holds {bytes} bytes, but its shape and strides reach to byte {needed}")]
    OutOfBounds {
        /// The operand.
        tensor: &'static str,
        /// Bytes behind the handle.
        bytes: u64,
        /// Bytes that the strides reach.
        needed: u64,
    },
    /// A forced configuration that breaks a rule of the kernel.
    #[error("configuration: {0}")]
    Config(#[from] ConfigError),
    /// A forced plan for SM90 that can't serve.
    #[error("the kernel for SM90: {0}")]
    Sm90(#[from] Sm90Refusal),
    /// A forced configuration made for another problem.
    #[error("the forced configuration is for {config}, but the problem has {problem}")]
    Mismatch {
        /// What the configuration was made for.
        config: String,
        /// What the problem has.
        problem: String,
    },
    /// CubeCL or the driver could not compile the kernel for the device.
    #[error("the kernel {config} does not compile for {device}: {reason}")]
    Compilation {
        /// The kernel.
        config: String,
        /// The device.
        device: String,
        /// The compiler's words.
        reason: String,
    },
    /// The device can't run the kernel at all.
    #[error("the kernel can't run on {device}: {reason}")]
    Unsupported {
        /// The device.
        device: String,
        /// What is missing.
        reason: String,
    },
}

/// Why the kernels of SM90 don't serve a problem that those of SM80 do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Sm90Refusal {
    /// Their instructions are those of one architecture.
    #[error("wgmma exists on compute capability 90 only, not on {0}")]
    Capability(u32),
    /// A tensor map holds 36 bits of a stride in units of 16 bytes, and no 0.
    #[error(
        "a stride of {tensor} is {bytes} bytes, but a tensor map holds more than 0 and less than 2^40"
    )]
    Stride {
        /// The operand.
        tensor: &'static str,
        /// The stride.
        bytes: u64,
    },
    /// The tiles don't fit.
    #[error("{bytes} bytes of shared memory are more than the GPU's {limit}")]
    SharedMemory {
        /// Bytes needed.
        bytes: u32,
        /// Bytes there are.
        limit: u32,
    },
}

/// A rule of [`FwdConfig`](crate::FwdConfig) that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No kernel of this head size is compiled.
    #[error("head_dim {0} is none of 32, 64, 96, 128, 192, 256")]
    HeadDim(u32),
    /// The warps don't tile the query rows.
    #[error("block_m {block_m} is not a multiple of 16 rows x {warps} warps")]
    BlockM {
        /// Query rows of a cube.
        block_m: u32,
        /// Warps of a cube.
        warps: u32,
    },
    /// Warpgroups have 64 rows each.
    #[error("a block of {0} rows is none of 64, 128, 192, 64 a warpgroup")]
    Warpgroups(u32),
    /// Warpgroups own keys and queries by 16 a warp.
    #[error("{warps} x {warps_n} warps (dQ {warps_dq}) don't own 16 keys and 16 queries each")]
    Arrangement {
        /// Warps along the keys.
        warps: u32,
        /// Warps beside them.
        warps_n: u32,
        /// Warps along the queries of dQ.
        warps_dq: u32,
    },
    /// dK and dV of a warpgroup's own keys take as many registers of a thread as they have columns.
    #[error(
        "{head_dim} columns of dK and dV are more than the {limit} that leave registers for S and dP, \
         unless two warpgroups share keys"
    )]
    GradientRegisters {
        /// Columns.
        head_dim: u32,
        /// The most there can be.
        limit: u32,
    },
    /// A tile arrives in boxes of all its rows.
    #[error("{rows} rows are more than the {limit} of a tensor map's box")]
    BoxRows {
        /// Rows of the tile.
        rows: u32,
        /// The most there can be.
        limit: u32,
    },
    /// A K/V block must hold whole 16-key steps of the second product.
    #[error("block_n {0} is not a multiple of 16")]
    BlockN(u32),
    /// A copy pass of all threads must hold whole rows and divide the tile.
    #[error("{rows} rows of {tile} are not a multiple of the {pass} rows that one pass copies")]
    CopyPass {
        /// The tile.
        tile: &'static str,
        /// Its rows.
        rows: u32,
        /// Rows that all threads copy at once.
        pass: u32,
    },
    /// Stage counts that the pipeline is written for.
    #[error("stages {0} is none of 1, 2, 3")]
    Stages(u32),
    /// Warp counts that a cube can have.
    #[error("warps {0} is not a power of two from 1 to 16")]
    Warps(u32),
    /// The pass for dQ reads K after V, and warpgroups read a block of Q while the next is copied.
    #[error("the pass for dQ and the backward by warpgroups need 2 or 3 stages, not {0}")]
    QueryStages(u32),
    /// Instructions of SM90 for an older GPU.
    #[error("this kernel's instructions need compute capability 90, but the GPU has {0}")]
    Instructions(u32),
    /// Sums of dQ in order by a kernel whose cubes don't wait for each other.
    #[error("query_sums is Ordered, but only the kernels by warpgroups, for SM90, add in order")]
    OrderedSums,
    /// A size that its parts don't tile.
    #[error("{what} {size} is not a multiple of {multiple}")]
    Multiple {
        /// The size's name.
        what: &'static str,
        /// Its value.
        size: u32,
        /// What it must be a multiple of.
        multiple: u32,
    },
    /// Warps side by side that don't fit an atom of shared memory.
    #[error("{warps} warps side by side take 16 columns each, but an atom has {steps} times 16")]
    Atom {
        /// Warps.
        warps: u32,
        /// Steps of 16 columns in an atom.
        steps: u32,
    },
    /// The tiles don't fit the shared memory of any GPU.
    #[error("{bytes} bytes of shared memory are more than {limit}")]
    SharedMemory {
        /// Bytes needed.
        bytes: u32,
        /// Bytes there are.
        limit: u32,
    },
}
