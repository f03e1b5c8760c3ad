//! The gradient of both outputs.
//!
//! Burn's autodiff has one node per output, so O and LSE are two nodes over the same Q, K and V.
//! Both run the one backward pass, which is linear in (dO, dLSE): the node of O with dLSE = 0, that
//! of LSE with dO = 0.
//!
//! ```text
//! P = exp(S - LSE)      dV = P^T dO      dP = dO V^T      dS = P * (dP - delta)
//! delta = rowsum(dO * O) - dLSE          dQ = scale dS K  dK = scale dS^T Q
//! ```
//!
//! Q, K and V are kept by the checkpointer, so that a memory-bound producer of theirs may be
//! recomputed; of S and P nothing is kept.

use burn::backend::{
    Autodiff, Backend, TensorMetadata,
    autodiff::{
        NodeId,
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, Ops, OpsKind},
    },
    tensor::FloatTensor,
};

use crate::backend::{BackwardCall, Call, FlashAttentionOps};

/// What either node keeps: Q, K, V by their nodes, O, LSE.
type State<B> = ([NodeId; 3], FloatTensor<B>, FloatTensor<B>, Call);

/// The node of O.
#[derive(Debug)]
struct OutputBackward;

impl<B: Backend + FlashAttentionOps> Backward<B, 3> for OutputBackward {
    type State = State<B>;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, saved: &mut Checkpointer) {
        let d_o = grads.consume::<B>(&ops.node);
        let (_, _, lse, _) = &ops.state;
        let d_lse = B::float_zeros(lse.shape(), &lse.device(), lse.dtype().into());
        register::<B>(ops, grads, saved, d_o, d_lse);
    }
}

/// The node of LSE.
#[derive(Debug)]
struct LseBackward;

impl<B: Backend + FlashAttentionOps> Backward<B, 3> for LseBackward {
    type State = State<B>;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, saved: &mut Checkpointer) {
        let d_lse = grads.consume::<B>(&ops.node);
        let (_, o, ..) = &ops.state;
        let d_o = B::float_zeros(o.shape(), &o.device(), o.dtype().into());
        register::<B>(ops, grads, saved, d_o, d_lse);
    }
}

/// Runs the backward pass and hands the gradients to the parents that want them.
fn register<B: FlashAttentionOps>(
    ops: Ops<State<B>, 3>,
    grads: &mut Gradients,
    saved: &mut Checkpointer,
    d_o: FloatTensor<B>,
    d_lse: FloatTensor<B>,
) {
    let (inputs, o, lse, call) = ops.state;
    let [q, k, v] = inputs.map(|id| saved.retrieve_node_output(id));
    let call = BackwardCall {
        forward: call,
        wanted: ops.parents.each_ref().map(Option::is_some),
    };
    let (d_q, d_k, d_v) = B::fa2_backward(q, k, v, o, lse, d_o, d_lse, call);
    for (parent, gradient) in ops.parents.into_iter().zip([d_q, d_k, d_v]) {
        if let Some(node) = parent {
            grads.register::<B>(node.id, gradient);
        }
    }
}

impl<B: Backend + FlashAttentionOps, C: CheckpointStrategy> FlashAttentionOps for Autodiff<B, C> {
    fn fa2_forward(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        call: Call,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let inputs = [&q, &k, &v];
        let [q_inner, k_inner, v_inner] = inputs.map(|input| input.primitive().clone());
        let (o, lse) = B::fa2_forward(q_inner, k_inner, v_inner, call);

        let guards = inputs.map(|input| input.node());
        let kept = o.clone();
        let o_node = match OutputBackward
            .prepare::<C>(guards)
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(mut prep) => {
                let ids = inputs.map(|input| prep.checkpoint(input));
                prep.finish((ids, o.clone(), lse.clone(), call), o)
            }
            OpsKind::UnTracked(prep) => prep.finish(o),
        };
        let guards = inputs.map(|input| input.node());
        let lse_node = match LseBackward.prepare::<C>(guards).compute_bound().stateful() {
            OpsKind::Tracked(mut prep) => {
                let ids = inputs.map(|input| prep.checkpoint(input));
                prep.finish((ids, kept, lse.clone(), call), lse)
            }
            OpsKind::UnTracked(prep) => prep.finish(lse),
        };
        (o_node, lse_node)
    }

    fn fa2_backward(
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: BackwardCall,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        // The macro asks for this body, but Burn never nests autodiff.
        unreachable!("burn has first-order gradients only")
    }
}
