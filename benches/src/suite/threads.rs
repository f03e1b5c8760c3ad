//! The same work from several threads at once.

/// Threads of a check.
pub const THREADS: usize = 4;
/// Calls of each thread of [`agree`].
pub const CALLS: usize = 50;

/// What `work` gives on each of [`THREADS`] threads, which it is told the index of.
///
/// # Errors
/// That of the first thread that has one. A thread that panicked has one too.
pub fn together<T: Send>(
    work: impl Fn(usize) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        // All are joined before an error is looked at: a scope passes on the panic of a thread that is not.
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        let panicked = |_| Err("a thread panicked".to_owned());
        results
            .into_iter()
            .map(|result| result.unwrap_or_else(panicked))
            .collect()
    })
}

/// Checks that all calls of `run` from all threads give what one gives alone.
///
/// # Errors
/// A call's own, or that one gave something else.
pub fn agree<T: PartialEq + Sync>(
    run: impl Fn() -> Result<T, String> + Sync,
) -> Result<(), String> {
    let alone = run()?;
    let calls = |_| {
        (0..CALLS).try_for_each(|_| match run()? == alone {
            true => Ok(()),
            false => Err("a thread saw other bits".to_owned()),
        })
    };
    together(calls).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{THREADS, agree, together};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_are_in_the_order_of_the_threads() {
        let results = together(Ok);
        assert_eq!(results, Ok((0..THREADS).collect()));
    }

    #[test]
    fn a_thread_that_panics_is_an_error() {
        let result = together(|thread| {
            assert!(thread != THREADS - 1, "on purpose");
            Ok(())
        });
        assert_eq!(result, Err("a thread panicked".to_owned()));
    }

    #[test]
    fn one_call_that_differs_is_an_error() {
        let calls = AtomicUsize::new(0);
        let run = |odd: usize| Ok(calls.fetch_add(1, Ordering::Relaxed) == odd);
        assert!(agree(|| run(100)).is_err());
        assert_eq!(agree(|| run(usize::MAX)), Ok(()));
    }
}
