//! The options' text form, forced paths, and what `Strategy::Auto` logs.

use std::sync::Mutex;

use burn::tensor::ops::AttentionModuleOptions;
use burn_fa2::{
    CausalAlignment, FlashAttentionOptions, Mask, Strategy, attention, flash_attention,
};
use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::support::{cpu, f64s, noise, random_mask};

#[test]
fn options_survive_json() {
    for mask in [
        Mask::None,
        Mask::Causal(CausalAlignment::BottomRight),
        Mask::Causal(CausalAlignment::TopLeft),
    ] {
        for strategy in [
            Strategy::Auto,
            Strategy::CubeCl,
            Strategy::Hopper,
            Strategy::Cute,
            Strategy::Composed,
        ] {
            let plain = FlashAttentionOptions::default()
                .with_mask(mask)
                .with_strategy(strategy);
            for options in [plain, plain.with_scale(0.1 + 0.2)] {
                let json = serde_json::to_string(&options).expect("serializable");
                assert_eq!(
                    serde_json::from_str::<FlashAttentionOptions>(&json).expect(&json),
                    options
                );
            }
        }
    }
}

#[test]
fn options_have_a_stable_text_form() {
    let options = FlashAttentionOptions::causal().with_strategy(Strategy::CubeCl);
    let json = serde_json::to_string(&options).expect("serializable");
    assert_eq!(
        json,
        r#"{"mask":{"causal":"bottom_right"},"scale":null,"strategy":"cube_cl","deterministic":false}"#
    );
    assert_eq!(
        serde_json::from_str::<FlashAttentionOptions>("{}").expect("all fields have defaults"),
        FlashAttentionOptions::default(),
    );
}

#[test]
fn an_unknown_option_is_an_error() {
    assert!(serde_json::from_str::<FlashAttentionOptions>(r#"{"window": 4}"#).is_err());
    assert!(serde_json::from_str::<FlashAttentionOptions>(r#"{"strategy": "cutlass"}"#).is_err());
}

#[test]
fn auto_on_a_cpu_is_the_composed_path() {
    let [q, k, v] = [1, 2, 3].map(|seed| noise([1, 2, 7, 8], seed, &cpu()));
    let of = |strategy| {
        let options = FlashAttentionOptions::causal().with_strategy(strategy);
        f64s(flash_attention(q.clone(), k.clone(), v.clone(), options))
    };
    assert_eq!(of(Strategy::Auto), of(Strategy::Composed));
}

/// Keeps what burn-fa2 logs.
struct Kept(Mutex<Vec<String>>);

impl Log for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("burn_fa2") && metadata.level() == Level::Info
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0
                .lock()
                .expect("no test panics here")
                .push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

static KEPT: Kept = Kept(Mutex::new(Vec::new()));

/// The log is once per process and these tests share one, so the test runs itself in a process of
/// its own.
#[test]
fn auto_logs_its_choice_once_per_reason() {
    const CHILD: &str = "BURN_FA2_TEST_LOG_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return log_child();
    }
    let this = std::env::current_exe().expect("a test has an executable");
    let output = std::process::Command::new(this)
        .args([
            "--exact",
            "choice::auto_logs_its_choice_once_per_reason",
            "--nocapture",
        ])
        .env(CHILD, "1")
        .output()
        .expect("the test can be started again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "the child ran nothing: {text}");
}

fn log_child() {
    log::set_logger(&KEPT).expect("no other logger");
    log::set_max_level(LevelFilter::Info);
    let [q, k, v] = [1, 2, 3].map(|seed| noise([1, 2, 7, 8], seed, &cpu()));
    let flash = |strategy| {
        let options = FlashAttentionOptions::default().with_strategy(strategy);
        let _ = flash_attention(q.clone(), k.clone(), v.clone(), options);
    };
    let full = |mask: bool, softcap| {
        let mask = mask.then(|| random_mask([1, 1, 7, 7], 4, 1));
        let options = AttentionModuleOptions {
            softcap,
            ..Default::default()
        };
        let _ = attention(q.clone(), k.clone(), v.clone(), mask, None, options);
    };

    flash(Strategy::Composed);
    assert!(
        KEPT.0.lock().expect("unpoisoned").is_empty(),
        "a forced strategy needs no word"
    );
    for _ in 0..3 {
        flash(Strategy::Auto);
        full(true, None);
        full(false, Some(1.0));
    }
    let kept = KEPT.0.lock().expect("unpoisoned");
    assert_eq!(kept.len(), 3, "{kept:?}");
    assert!(kept[0].contains("Flex"), "{kept:?}");
    assert!(
        kept[1].contains("mask") && kept[2].contains("softcap"),
        "{kept:?}"
    );
}
