//! AdamW on the parameters of a model, after clipping the norm of all gradients together.
//!
//! Burn's `ModuleOptimizer` does nearly this. It clips each tensor by itself, though, and loads its
//! state through `Device::default()`, which in a build with CUDA is a GPU, there or not. So the
//! states are kept here, and leave and enter as two models: one of first, one of second moments.

use std::collections::HashMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::{
    AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, DynState, GradientsParams,
    Optimizer as _,
};
use burn::tensor::Tensor;

use crate::model::Gpt;

/// Decay of the moments; the second is that of most language models, for noisy gradients.
const BETAS: [f32; 2] = [0.9, 0.95];
const EPSILON: f32 = 1e-8;
/// Keeps the clipping factor finite where every gradient is 0.
const NORM_EPSILON: f32 = 1e-6;

/// AdamW with a state for each parameter, in f32.
pub(crate) struct Optimizer {
    matrices: AdamW,
    /// Of the norms, which must not decay towards 0.
    gains: AdamW,
    /// The largest norm that the gradients keep.
    clip: f32,
    states: HashMap<ParamId, DynState>,
}

/// First and second moments, each in the shape of the model, and how many steps they hold.
pub(crate) struct Moments {
    pub(crate) first: Gpt,
    pub(crate) second: Gpt,
    pub(crate) steps: usize,
}

impl Optimizer {
    pub(crate) fn new(weight_decay: f32, clip: f32) -> Self {
        let adam = |decay| {
            AdamWConfig::new()
                .with_beta_1(BETAS[0])
                .with_beta_2(BETAS[1])
                .with_epsilon(EPSILON)
                .with_weight_decay(decay)
                .build()
        };
        Self {
            matrices: adam(weight_decay),
            gains: adam(0.0),
            clip,
            states: HashMap::new(),
        }
    }

    /// The model after one step with `grads`, which were multiplied by `1 / unscale`.
    ///
    /// Nothing waits for the device: the norm and what follows from it stay there.
    pub(crate) fn step(
        &mut self,
        rate: f64,
        model: Gpt,
        mut grads: GradientsParams,
        unscale: f32,
    ) -> Gpt {
        let Some(squares) = sum_of_squares(&model, &grads) else {
            return model;
        };
        let norm = squares.sqrt() * unscale;
        let factor = ((norm + NORM_EPSILON).recip() * self.clip).clamp_max(1.0) * unscale;
        model.map(&mut Step {
            optimizer: self,
            rate,
            grads: &mut grads,
            factor,
        })
    }

    /// The state, for a checkpoint of `model` after `steps` steps.
    pub(crate) fn moments(&self, model: &Gpt, steps: usize) -> Moments {
        let of = |which| model.valid().map(&mut Replace { from: self, which });
        Moments {
            first: of(Moment::First),
            second: of(Moment::Second),
            steps,
        }
    }

    /// Takes over a checkpoint's state.
    pub(crate) fn restore(&mut self, moments: &Moments) {
        let mut second = GradientsParams::new();
        moments.second.visit(&mut Collect(&mut second));
        moments.first.visit(&mut Join {
            states: &mut self.states,
            second: &mut second,
            steps: moments.steps,
        });
    }
}

/// The sum of the squares of all gradients, (1) in f32; none without a gradient.
fn sum_of_squares(model: &Gpt, grads: &GradientsParams) -> Option<Tensor<1>> {
    let mut squares = Squares { grads, sum: None };
    model.visit(&mut squares);
    squares.sum
}

struct Squares<'a> {
    grads: &'a GradientsParams,
    sum: Option<Tensor<1>>,
}

impl ModuleVisitor for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = self.grads.get::<D>(param.id) {
            let square = grad.square().sum();
            self.sum = Some(match self.sum.take() {
                Some(sum) => sum + square,
                None => square,
            });
        }
    }
}

struct Step<'a> {
    optimizer: &'a mut Optimizer,
    rate: f64,
    grads: &'a mut GradientsParams,
    /// (1)
    factor: Tensor<1>,
}

impl ModuleMapper for Step<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, tensor, mapper) = param.consume();
        let Some(grad) = self.grads.remove::<D>(id) else {
            return Param::from_mapped_value(id, tensor, mapper);
        };
        let optimizer = &mut *self.optimizer;
        let adam = match D {
            1 => &optimizer.gains,
            _ => &optimizer.matrices,
        };
        let state = optimizer.states.remove(&id).map(DynState::downcast);
        let grad = grad * self.factor.clone().unsqueeze::<D>();
        let (tensor, state) = adam.step(self.rate, tensor.inner(), grad, state);
        if let Some(state) = state {
            optimizer.states.insert(id, DynState::create(state, D));
        }
        let tensor = Tensor::from_inner(tensor).require_grad();
        Param::from_mapped_value(id, tensor, mapper)
    }
}

#[derive(Clone, Copy)]
enum Moment {
    First,
    Second,
}

/// Puts a moment in the place of each parameter, zeros where there is none yet.
struct Replace<'a> {
    from: &'a Optimizer,
    which: Moment,
}

impl ModuleMapper for Replace<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let state = self.from.states.get(&param.id);
        let momentum = state.map(|state| &state.downcast_ref::<AdamWState<D>>().momentum);
        param.map(|value| match (momentum, self.which) {
            (Some(momentum), Moment::First) => momentum.moment_1.clone(),
            (Some(momentum), Moment::Second) => momentum.moment_2.clone(),
            (None, _) => value.zeros_like(),
        })
    }
}

/// The tensors of a model by their parameter's id.
struct Collect<'a>(&'a mut GradientsParams);

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.register(param.id, param.val());
    }
}

/// Makes a state of each pair of moments.
struct Join<'a> {
    states: &'a mut HashMap<ParamId, DynState>,
    second: &'a mut GradientsParams,
    steps: usize,
}

impl ModuleVisitor for Join<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(second) = self.second.remove::<D>(param.id) {
            let momentum = AdaptiveMomentumState::new(self.steps, param.val(), second);
            let state = DynState::create(AdamWState::new(momentum), D);
            self.states.insert(param.id, state);
        }
    }
}
