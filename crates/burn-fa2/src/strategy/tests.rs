//! The choice on GPUs that a test makes up.

use burn::tensor::{DType, Device};

use super::{
    Backward, Forward, Kernels, Path, Request, automatic, fastest_backward, fastest_forward, forced,
};
use crate::{error::Reason, options::Mask, validate::Sizes};

/// What is against a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    Refused,
    NotCompiled,
}
use Verdict::{Fine, NotCompiled, Refused};

impl Verdict {
    fn rule(self) -> Result<(), Reason> {
        match self {
            Refused => Err(Reason::Rule("a rule".to_owned())),
            Fine | NotCompiled => Ok(()),
        }
    }

    fn compilation(self) -> Result<(), Reason> {
        match self {
            NotCompiled => Err(Reason::Compilation("a compiler".to_owned())),
            Fine | Refused => Ok(()),
        }
    }
}

/// A GPU with verdicts of its own.
#[derive(Clone, Copy)]
struct Fake {
    cubecl: Verdict,
    hopper: Verdict,
    cute: Verdict,
    cubecl_backward: Verdict,
    hopper_backward: Verdict,
}

/// A GPU that everything runs on.
const HOPPER: Fake = Fake {
    cubecl: Fine,
    hopper: Fine,
    cute: Fine,
    cubecl_backward: Fine,
    hopper_backward: Fine,
};

impl Fake {
    fn of(&self, forward: Forward) -> Verdict {
        match forward {
            Forward::CubeCl => self.cubecl,
            Forward::Hopper => self.hopper,
            Forward::Cute => self.cute,
        }
    }
}

impl Kernels for Fake {
    fn serves(&self, forward: Forward, _: &Request<'_>) -> Result<(), Reason> {
        self.of(forward).rule()
    }

    fn compiles(&self, forward: Forward, _: &Request<'_>) -> Result<(), Reason> {
        self.of(forward).compilation()
    }

    fn differentiates(&self, backward: Backward, request: &Request<'_>) -> Result<(), Reason> {
        assert!(request.is_tracked(), "nobody asks for a gradient");
        let verdict = match backward {
            Backward::CubeCl => self.cubecl_backward,
            Backward::Hopper => self.hopper_backward,
        };
        verdict.rule().and_then(|()| verdict.compilation())
    }
}

/// Calls `check` with a request for these gradients.
fn with_request<T>(tracked: [bool; 3], check: impl FnOnce(&Request<'_>) -> T) -> T {
    let shape = [1, 2, 16, 64];
    check(&Request {
        device: &Device::flex(),
        dtype: DType::F16,
        sizes: &Sizes::new(shape, shape, shape),
        mask: Mask::None,
        scale: 0.125,
        tracked,
        deterministic: false,
    })
}

const ALL: [bool; 3] = [true; 3];
const NONE: [bool; 3] = [false; 3];

fn auto(gpu: Fake, tracked: [bool; 3]) -> Result<Path, Reason> {
    with_request(tracked, |request| automatic(&gpu, request))
}

fn force(gpu: Fake, forward: Forward, tracked: [bool; 3]) -> Result<Path, Reason> {
    with_request(tracked, |request| forced(&gpu, forward, request))
}

#[test]
fn auto_takes_hopper_for_both_passes_where_it_serves() {
    let path = Ok(Path::Kernels(Forward::Hopper, Backward::Hopper));
    assert_eq!(auto(HOPPER, ALL), path);
    assert_eq!(auto(HOPPER, [false, true, false]), path);
}

#[test]
fn auto_chooses_each_pass_by_itself() {
    for verdict in [Refused, NotCompiled] {
        let gpu = Fake {
            hopper: verdict,
            ..HOPPER
        };
        let path = Path::Kernels(Forward::CubeCl, Backward::Hopper);
        assert_eq!(auto(gpu, ALL), Ok(path));
        let gpu = Fake {
            hopper_backward: verdict,
            ..HOPPER
        };
        let path = Path::Kernels(Forward::Hopper, Backward::CubeCl);
        assert_eq!(auto(gpu, ALL), Ok(path));
        let gpu = Fake {
            hopper: verdict,
            cubecl: verdict,
            ..HOPPER
        };
        let path = Path::Kernels(Forward::Cute, Backward::Hopper);
        assert_eq!(auto(gpu, ALL), Ok(path));
    }
}

#[test]
fn auto_has_a_reason_for_what_is_not_hopper() {
    let gpu = Fake {
        hopper: Refused,
        hopper_backward: Refused,
        ..HOPPER
    };
    with_request(ALL, |request| {
        let reason = Some(Reason::Rule("a rule".to_owned()));
        let forward = fastest_forward(&gpu, request);
        assert_eq!(forward, Ok((Forward::CubeCl, reason.clone())));
        let backward = fastest_backward(&gpu, request);
        assert_eq!(backward, Ok((Backward::CubeCl, reason)));
    });
}

#[test]
fn auto_composes_what_no_kernel_serves_or_differentiates() {
    let without_forward = Fake {
        cubecl: Refused,
        hopper: NotCompiled,
        cute: Refused,
        ..HOPPER
    };
    let without_backward = Fake {
        cubecl_backward: Refused,
        hopper_backward: NotCompiled,
        ..HOPPER
    };
    for gpu in [without_forward, without_backward] {
        let reason = Reason::Rule("a rule".to_owned());
        assert_eq!(auto(gpu, ALL), Err(reason));
    }
    assert!(auto(without_backward, NONE).is_ok());
}

#[test]
fn a_forced_strategy_is_served_or_refused() {
    for (forward, backward) in [
        (Forward::CubeCl, Backward::CubeCl),
        (Forward::Hopper, Backward::Hopper),
        (Forward::Cute, Backward::CubeCl),
    ] {
        let path = Path::Kernels(forward, backward);
        assert_eq!(force(HOPPER, forward, ALL), Ok(path));
        let refusing = Fake {
            cubecl: Refused,
            hopper: Refused,
            cute: Refused,
            ..HOPPER
        };
        assert!(force(refusing, forward, NONE).is_err());
    }
}

#[test]
fn forced_hopper_has_the_gradient_for_sm80_where_a_rule_is_against_its_own() {
    let gpu = Fake {
        hopper_backward: Refused,
        ..HOPPER
    };
    let path = Path::Kernels(Forward::Hopper, Backward::CubeCl);
    assert_eq!(force(gpu, Forward::Hopper, ALL), Ok(path));
}

#[test]
fn forced_hopper_fails_where_a_kernel_of_its_own_does_not_compile() {
    let reason = Err(Reason::Compilation("a compiler".to_owned()));
    let forward = Fake {
        hopper: NotCompiled,
        ..HOPPER
    };
    let backward = Fake {
        hopper_backward: NotCompiled,
        ..HOPPER
    };
    assert_eq!(force(forward, Forward::Hopper, NONE), reason);
    assert_eq!(force(backward, Forward::Hopper, ALL), reason);
    assert!(force(backward, Forward::Hopper, NONE).is_ok());
}
