//! Where diverged lanes meet again: the immediate post-dominator of a branch.

use crate::module::{Kernel, Op};
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

/// For every instruction, the one where lanes that part there meet again: an index into the code,
/// or its length for the kernel's end. Only a branch's is ever asked for.
pub(crate) fn meeting_points(kernel: &Kernel) -> Vec<usize> {
    let end = kernel.code.len();
    // Post-dominators are the dominators of the graph with its edges turned round.
    let mut graph = DiGraph::<(), ()>::with_capacity(end + 1, end + 1);
    let nodes: Vec<NodeIndex> = (0..=end).map(|_| graph.add_node(())).collect();
    for (at, instruction) in kernel.code.iter().enumerate() {
        let mut goes_to = |next: usize| {
            graph.add_edge(nodes[next.min(end)], nodes[at], ());
        };
        match instruction.op {
            Op::Branch { target, .. } => goes_to(target),
            Op::Return => goes_to(end),
            _ => {}
        }
        let leaves = matches!(instruction.op, Op::Branch { .. } | Op::Return);
        if !leaves || instruction.guard.is_some() {
            goes_to(at + 1);
        }
    }
    let dominators = simple_fast(&graph, nodes[end]);
    (0..end)
        .map(|at| {
            // Code that never ends has no such point: its lanes stay apart.
            dominators
                .immediate_dominator(nodes[at])
                .map_or(end, NodeIndex::index)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    #[test]
    fn both_sides_of_an_if_meet_behind_it() {
        let text = ".version 9.0
            .target sm_80
            .address_size 64
            .visible .entry k() {
            .reg .pred %p; .reg .b32 %r;
            @%p bra $else;
            mov.b32 %r, 1;
            bra.uni $end;
            $else: mov.b32 %r, 2;
            $end: ret; }";
        let module = Module::parse(text).expect("parses");
        assert_eq!(meeting_points(&module.kernels[0])[0], 4);
    }

    #[test]
    fn a_loop_is_left_behind_its_branch() {
        let text = ".version 9.0
            .target sm_80
            .address_size 64
            .visible .entry k() {
            .reg .pred %p;
            $top: @%p bra $top;
            ret; }";
        let module = Module::parse(text).expect("parses");
        assert_eq!(meeting_points(&module.kernels[0])[0], 1);
    }
}
