//! `cargo xtask layout`: an index map of the kernels as a layout, a formula, and a table or picture.

mod picture;
mod text;

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use fa2_layouts::{Engine, Name, RowCopy, Sizes};

use crate::progress;
use picture::Picture;

/// What to print.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The layout; without one, the names are listed
    name: Option<String>,
    /// List the names
    #[arg(long)]
    list: bool,
    /// Columns of Q, K, V and O: 32, 64, 96, 128, 192 or 256
    #[arg(long, value_name = "D", default_value_t = Sizes::ARTICLE.head_dim())]
    head_dim: usize,
    /// Query rows of a thread block
    #[arg(long, value_name = "ROWS", default_value_t = Sizes::ARTICLE.block_m())]
    block_m: usize,
    /// Key rows of a step
    #[arg(long, value_name = "ROWS", default_value_t = Sizes::ARTICLE.block_n())]
    block_n: usize,
    /// Warps, laid along the query rows
    #[arg(long, value_name = "COUNT", default_value_t = Sizes::ARTICLE.warps())]
    warps: usize,
    /// How a row is copied: half-row, as in the article; whole-row, the default of the SM80 kernels in
    /// Rust; or bulk, by the copy engine of SM90. The first without the option, except for maps that
    /// only SM90 kernels have
    #[arg(long, value_name = "WAY")]
    row_copy: Option<RowCopy>,
    /// Draw into FILE as SVG, coloured by thread, instead of printing the table
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Rows of the table or the drawing, as in 0..16; all of them by default
    #[arg(long, value_name = "FROM..TO")]
    rows: Option<Span>,
    /// Columns of the table or the drawing
    #[arg(long, value_name = "FROM..TO")]
    columns: Option<Span>,
}

/// `FROM..TO`, without TO.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span(Range<usize>);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split_once("..")
            .and_then(|(from, to)| Some(Self(from.parse().ok()?..to.parse().ok()?)))
            .filter(|Self(span)| !span.is_empty())
            .ok_or_else(|| "give a range that is not empty, as in 0..16".to_owned())
    }
}

/// Prints the list, or one layout and its table, or draws it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Some(name) = options.name.as_deref().filter(|_| !options.list) else {
        return print(&text::list());
    };
    let name: Name = name.parse().with_context(|| {
        let known: Vec<&str> = Name::ALL.into_iter().map(Name::as_str).collect();
        format!("the layouts are {}", known.join(", "))
    })?;
    let blocks = [options.block_m, options.block_n];
    let row_copy = options.row_copy.unwrap_or(match name.engine() {
        Some(Engine::Sm90) => RowCopy::Bulk,
        _ => RowCopy::HalfRow,
    });
    let sizes = Sizes::new(options.head_dim, blocks, options.warps, row_copy)
        .context("no kernel has these sizes")?;
    let map = name.map(&sizes)?;
    let picture = Picture::of(&map);
    let rows = span("rows", options.rows.as_ref(), picture.rows)?;
    let columns = span("columns", options.columns.as_ref(), picture.columns)?;

    let mut out = text::description(name, &sizes, &map);
    let Some(file) = &options.svg else {
        out.push_str(&text::table(&picture, rows, columns));
        return print(&out);
    };
    print(&out)?;
    fs::write(file, picture.svg(rows, columns))
        .with_context(|| format!("cannot write {}", file.display()))?;
    let Picture {
        legend, colours, ..
    } = &picture;
    let file = file.display();
    progress::note(&format!("drawn in {file}: {legend}; colours: {colours}"));
    Ok(())
}

/// The span that was asked for, of those that there are.
fn span(axis: &str, asked: Option<&Span>, count: usize) -> Result<Range<usize>> {
    let Some(Span(span)) = asked else {
        return Ok(0..count);
    };
    let Range { start, end } = span;
    ensure!(
        *end <= count,
        "--{axis} {start}..{end}: the layout has {count} {axis}"
    );
    Ok(span.clone())
}

/// Prints, and is content where the reader has closed the pipe.
fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to the standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    fn error(arguments: &str) -> String {
        let words = ["layout"].into_iter().chain(arguments.split(' '));
        let cli = Cli::try_parse_from(words).expect("clap takes these arguments");
        format!("{:#}", run(&cli.options).expect_err("a rule is broken"))
    }

    #[test]
    fn errors_name_the_value_and_the_rule() {
        assert!(error("mma").starts_with("the layouts are g2s-row, "));
        assert!(error("mma").ends_with("there is no layout `mma`"));
        assert_eq!(
            error("mma-c --head-dim 80"),
            "no kernel has these sizes: head_dim 80 is none of 32, 64, 96, 128, 192, 256"
        );
        assert_eq!(
            error("wgmma-c --warps 2"),
            "no kernel has these sizes: warps 2 are not one, two or three warpgroups of 4"
        );
        assert_eq!(
            error("wgmma-c --row-copy half-row"),
            "wgmma-c is a map of the SM90 kernels, and D = 64, BM = 64, BN = 64, 4 warps, half-row \
             copies are sizes of the others"
        );
        assert_eq!(
            error("mma-c --columns 60..65"),
            "--columns 60..65: the layout has 64 columns"
        );
    }

    #[test]
    fn documentation_shows_what_the_command_prints_and_draws() {
        let docs = workspace::root().join("docs");
        let read = |file: &str| fs::read_to_string(docs.join(file)).expect("the file is there");
        let shows = |name: Name, sizes: &Sizes, most: usize| {
            let map = name.map(sizes).expect("the sizes are valid");
            let picture = Picture::of(&map);
            let (rows, columns) = (0..picture.rows.min(most), 0..picture.columns.min(most));
            let mut printed = text::description(name, sizes, &map);
            printed.push_str(&text::table(&picture, rows, columns));
            let indented: String = printed
                .lines()
                .map(|line| format!("    {line}\n"))
                .collect();
            assert!(read("layouts.md").contains(&indented), "{indented}");
        };
        shows(Name::MmaC, &Sizes::ARTICLE, 10);
        let sizes = Sizes::new(128, [128, 176], 8, RowCopy::Bulk).expect("the sizes are valid");
        shows(Name::DescriptorQ, &sizes, 10);
        shows(Name::DescriptorVt, &sizes, 11);

        let sizes = Sizes::new(64, [16, 16], 1, RowCopy::HalfRow).expect("the sizes are valid");
        let map = Name::MmaC.map(&sizes).expect("the sizes are valid");
        let drawn = Picture::of(&map).svg(0..16, 0..16);
        assert!(read("layouts.svg") == drawn, "draw docs/layouts.svg again");
    }

    #[test]
    fn only_ranges_with_an_element_are_spans() {
        assert_eq!("8..16".parse(), Ok(Span(8..16)));
        for text in ["8", "8..8", "9..8", "..8", "a..b"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
