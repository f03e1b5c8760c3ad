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

use burn::{
    backend::{
        Autodiff, Backend, TensorMetadata,
        autodiff::{
            NodeId,
            checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
            grads::Gradients,
            ops::{Backward, Ops, OpsKind},
        },
        tensor::FloatTensor,
    },
    tensor::Shape,
};

use crate::{
    backend::{Call, FlashAttentionOps},
    composed,
};

/// The node of O.
#[derive(Debug)]
struct OutputBackward;

impl<B: Backend + FlashAttentionOps> Backward<B, 3> for OutputBackward {
    /// Q, K, V by their nodes, O, LSE.
    type State = ([NodeId; 3], FloatTensor<B>, FloatTensor<B>, Call);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, saved: &mut Checkpointer) {
        let d_o = grads.consume::<B>(&ops.node);
        let (inputs, o, lse, call) = ops.state.clone();
        let delta = composed::delta::<B>(d_o.clone(), o);
        let operands = inputs.map(|id| saved.retrieve_node_output(id));
        register::<B, _>(ops, grads, operands, [lse, d_o, delta], call);
    }
}

/// The node of LSE.
#[derive(Debug)]
struct LseBackward;

impl<B: Backend + FlashAttentionOps> Backward<B, 3> for LseBackward {
    /// Q, K, V by their nodes, LSE.
    type State = ([NodeId; 3], FloatTensor<B>, Call);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, saved: &mut Checkpointer) {
        let delta = B::float_neg(grads.consume::<B>(&ops.node));
        let (inputs, lse, call) = ops.state.clone();
        let operands: [FloatTensor<B>; 3] = inputs.map(|id| saved.retrieve_node_output(id));
        let [q, _, v] = &operands;
        let ([batch, heads, seq, _], [.., value_dim]) =
            (q.shape().dims::<4>(), v.shape().dims::<4>());
        let shape = Shape::new([batch, heads, seq, value_dim]);
        let d_o = B::float_zeros(shape, &q.device(), q.dtype().into());
        register::<B, _>(ops, grads, operands, [lse, d_o, delta], call);
    }
}

/// Runs the backward pass and hands the gradients to the parents that want them.
fn register<B: FlashAttentionOps, S>(
    ops: Ops<S, 3>,
    grads: &mut Gradients,
    [q, k, v]: [FloatTensor<B>; 3],
    [lse, d_o, delta]: [FloatTensor<B>; 3],
    call: Call,
) {
    let (d_q, d_k, d_v) = B::fa2_backward(q, k, v, lse, d_o, delta, call);
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
                prep.finish((ids, lse.clone(), call), lse)
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
        _: Call,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        // The macro asks for this body, but Burn never nests autodiff.
        unreachable!("burn has first-order gradients only")
    }
}
