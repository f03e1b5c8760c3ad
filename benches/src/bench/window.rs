//! Device time of a launch: CUDA events around a window that holds many.
//!
//! A window is a CUDA graph of launches, replayed, or where a graph can't be captured the launches
//! themselves, one by one. The first holds no host time; the second holds what the host is slower
//! than the device.

use anyhow::{Context, Result, anyhow};
use cubecl::client::{Client, Graph};
use cubecl::future::block_on;

/// A launch on an input set.
pub type Launch<'a> = dyn Fn(usize) -> Result<()> + Send + Sync + 'a;

/// One implementation at one shape, and its rounds so far.
pub struct Window<'a> {
    client: &'a Client,
    launch: Box<Launch<'a>>,
    launches: usize,
    graph: Option<Graph>,
    /// Milliseconds of a launch, a round each.
    pub ms: Vec<f64>,
}

impl<'a> Window<'a> {
    /// Launches one by one, for at least `least_ms` a window; warms up.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    pub fn queued(client: &'a Client, launch: Box<Launch<'a>>, least_ms: f64) -> Result<Self> {
        let mut window = Self {
            client,
            launch,
            launches: 3,
            graph: None,
            ms: Vec::new(),
        };
        let first = window.time()?;
        window.launches = (least_ms / first).ceil().max(1.0) as usize;
        window.time()?;
        Ok(window)
    }

    /// `launches` in one CUDA graph; warms up.
    ///
    /// # Errors
    /// Where a launch, the capture or the device fails.
    pub fn captured(client: &'a Client, launch: Box<Launch<'a>>, launches: usize) -> Result<Self> {
        let refused = |step: &str, error: cubecl::server::ServerError| anyhow!("{step}: {error}");
        let all = || (0..launches).try_for_each(&launch);
        client
            .graph_prepare()
            .map_err(|error| refused("preparing a CUDA graph", error))?;
        all()?;
        client
            .start_capture()
            .map_err(|error| refused("capturing a CUDA graph", error))?;
        let queued = all();
        let graph = client
            .stop_capture()
            .map_err(|error| refused("ending a CUDA graph", error))?;
        queued?;
        let window = Self {
            client,
            launch,
            launches,
            graph: Some(graph),
            ms: Vec::new(),
        };
        window.time()?;
        Ok(window)
    }

    /// Whether a window is a CUDA graph.
    #[must_use]
    pub fn is_captured(&self) -> bool {
        self.graph.is_some()
    }

    /// Launches of a window.
    #[must_use]
    pub fn launches(&self) -> usize {
        self.launches
    }

    /// Times one more round.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    pub fn round(&mut self) -> Result<()> {
        let ms = self.time()?;
        self.ms.push(ms);
        Ok(())
    }

    /// Milliseconds of one launch.
    fn time(&self) -> Result<f64> {
        let enqueue = || match &self.graph {
            // SAFETY: all buffers of the launches outlive the window, nothing else writes them, and
            // the client is on the stream of the capture.
            Some(graph) => unsafe { graph.replay() }.map_err(|error| anyhow!("{error}")),
            None => (0..self.launches).try_for_each(&self.launch),
        };
        let (result, duration) = self
            .client
            .profile(enqueue, "window")
            .map_err(|error| anyhow!("{error:?}"))?;
        result?;
        let ticks = block_on(duration.resolve()).context("the device measured no time")?;
        Ok(ticks.duration().as_secs_f64() * 1e3 / self.launches as f64)
    }
}

/// Times one round of all windows. `round` counts them: with it rotates the one that goes first.
///
/// # Errors
/// Where a launch or the device fails.
pub fn time_round(windows: &mut [Window<'_>], round: usize) -> Result<()> {
    let count = windows.len();
    for turn in 0..count {
        windows[(round + turn) % count].round()?;
    }
    Ok(())
}
