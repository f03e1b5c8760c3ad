//! Device time of a launch: CUDA events around a window that holds many.
//!
//! A window is a CUDA graph of launches, replayed, or where a graph can't be captured the launches
//! themselves, one by one. The first holds no host time; the second holds what the host is slower
//! than the device.

use anyhow::{Context, Result, anyhow};
use cubecl::client::{Client, Graph};
use cubecl::future::block_on;
use std::fmt;

/// A launch on an input set.
pub type Launch<'a> = dyn Fn(usize) -> Result<()> + Send + Sync + 'a;

/// Least time of a graph that is replayed through a window, in milliseconds: long beside the gap between two.
const GRAPH_MS: f64 = 2.0;

/// One implementation at one shape, and its rounds so far.
pub struct Window<'a> {
    client: &'a Client,
    launch: Box<Launch<'a>>,
    /// Launches of a graph, or of the queue.
    launches: usize,
    graph: Option<Graph>,
    /// How often a window replays the graph, or launches the queue.
    repeats: usize,
    /// Milliseconds of a launch, a round each.
    pub ms: Vec<f64>,
}

impl<'a> Window<'a> {
    /// Whole turns over `sets` input sets, for at least `least_ms` a window; warms up.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    pub fn new(
        client: &'a Client,
        launch: Box<Launch<'a>>,
        sets: usize,
        least_ms: f64,
    ) -> Result<Self> {
        let mut window = Self::queued(client, launch, sets);
        // The first turn is a cold one.
        window.time()?;
        let turn_ms = window.time()? * sets as f64;
        let times = |all: f64, one: f64| (all / one).ceil().max(1.0) as usize;
        window.launches = sets * times(GRAPH_MS.min(least_ms), turn_ms);
        window.capture()?;
        window.repeats = times(least_ms, window.time()? * window.launches as f64);
        window.time()?;
        Ok(window)
    }

    /// `launches` a window; warms up.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    pub fn of_launches(
        client: &'a Client,
        launch: Box<Launch<'a>>,
        launches: usize,
    ) -> Result<Self> {
        let mut window = Self::queued(client, launch, launches);
        window.capture()?;
        window.time()?;
        Ok(window)
    }

    fn queued(client: &'a Client, launch: Box<Launch<'a>>, launches: usize) -> Self {
        Self {
            client,
            launch,
            launches,
            graph: None,
            repeats: 1,
            ms: Vec::new(),
        }
    }

    /// Makes a graph of the launches. Where CubeCL can't, they stay a queue, and the log says so.
    fn capture(&mut self) -> Result<()> {
        match self.captured() {
            Ok(graph) => self.graph = Some(graph),
            Err(error) => {
                log::warn!("timed as a queue of launches: {error:#}");
                // What fails by itself must not be timed.
                self.enqueue()?;
            }
        }
        Ok(())
    }

    fn captured(&self) -> Result<Graph> {
        let refused = |step: &str, error: cubecl::server::ServerError| anyhow!("{step}: {error}");
        self.client
            .graph_prepare()
            .map_err(|error| refused("preparing a CUDA graph", error))?;
        self.enqueue()?;
        self.client
            .start_capture()
            .map_err(|error| refused("capturing a CUDA graph", error))?;
        let queued = self.enqueue();
        let graph = self
            .client
            .stop_capture()
            .map_err(|error| refused("ending a CUDA graph", error))?;
        queued?;
        Ok(graph)
    }

    /// A row's note on `kernel`: with a word where a window is no CUDA graph.
    pub fn note(&self, kernel: impl fmt::Display) -> String {
        let queued = if self.graph.is_some() { "" } else { ", queued" };
        format!("{kernel}{queued}")
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
        let all = || (0..self.repeats).try_for_each(|_| self.enqueue());
        let (result, duration) = self
            .client
            .profile(all, "window")
            .map_err(|error| anyhow!("{error:?}"))?;
        result?;
        let ticks = block_on(duration.resolve()).context("the device measured no time")?;
        Ok(ticks.duration().as_secs_f64() * 1e3 / (self.launches * self.repeats) as f64)
    }

    /// The graph, or the queue, once.
    fn enqueue(&self) -> Result<()> {
        match &self.graph {
            // SAFETY: all buffers of the launches outlive the window, nothing else writes them, and
            // the client is on the stream of the capture.
            Some(graph) => unsafe { graph.replay() }.map_err(|error| anyhow!("{error}")),
            None => (0..self.launches).try_for_each(&self.launch),
        }
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
