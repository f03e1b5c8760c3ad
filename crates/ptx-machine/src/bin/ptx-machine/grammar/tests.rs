//! What each option takes, and what it says of anything else.

use super::{Argument, Buffer, Contents, Extent, GrammarError, Output};
use std::path::PathBuf;

fn argument(text: &str) -> Result<Argument, GrammarError> {
    text.parse()
}

fn buffer(text: &str) -> Result<Buffer, GrammarError> {
    text.parse()
}

#[test]
fn missing_sizes_of_an_extent_are_one() {
    assert_eq!("7".parse(), Ok(Extent([7, 1, 1])));
    assert_eq!("7,2".parse(), Ok(Extent([7, 2, 1])));
    assert_eq!("7, 2, 3".parse(), Ok(Extent([7, 2, 3])));
    for text in ["", "1,,2", "1,2,3,4", "-1", "x", "4294967296"] {
        let text = text.to_owned();
        let error = Err(GrammarError::Extent { text: text.clone() });
        assert_eq!(text.parse::<Extent>(), error);
    }
}

#[test]
fn a_buffer_is_a_file_or_a_number_of_bytes() {
    let contents = |text| buffer(text).map(|buffer| buffer.contents);
    assert_eq!(contents("q=zeros:64"), Ok(Contents::Zeros(64)));
    assert_eq!(contents("q=zeros:0x40"), Ok(Contents::Zeros(64)));
    assert_eq!(
        contents("q=uninitialized:0"),
        Ok(Contents::Uninitialized(0))
    );
    let file = |path: &str| Ok(Contents::File(PathBuf::from(path)));
    assert_eq!(contents("q=data/q.bin"), file("data/q.bin"));
    // Only these two words before a colon are no file; and a path may have an equals sign.
    assert_eq!(contents("q=C:/q=1.bin"), file("C:/q=1.bin"));
    assert_eq!(contents("q=./zeros:8"), file("./zeros:8"));
    assert_eq!(contents("q="), Err(GrammarError::NoFile));
    let bytes = |text: &str| {
        let text = text.to_owned();
        Err(GrammarError::Bytes { text })
    };
    assert_eq!(contents("q=zeros:"), bytes(""));
    assert_eq!(contents("q=zeros:-1"), bytes("-1"));
    assert_eq!(contents("q=uninitialized:1k"), bytes("1k"));
}

#[test]
fn a_buffer_has_a_name() {
    assert_eq!(buffer("q_1.a-b=x").map(|b| b.name), Ok("q_1.a-b".into()));
    let name = |name: &str| {
        let name = name.to_owned();
        Err(GrammarError::Name { name })
    };
    assert_eq!(buffer("=zeros:4"), name(""));
    assert_eq!(buffer("a b=zeros:4"), name("a b"));
    assert_eq!(
        buffer("zeros:4").map_err(|error| error.to_string()),
        Err("\"zeros:4\" has no `=` between a buffer's name and its contents".into())
    );
}

#[test]
fn arguments_are_little_endian() {
    let bytes = |bytes: &[u8]| Ok(Argument::Bytes(bytes.to_vec()));
    assert_eq!(argument("u32:258"), bytes(&[2, 1, 0, 0]));
    assert_eq!(argument("u32:0xFFFFFFFF"), bytes(&[255; 4]));
    assert_eq!(argument("u64:1"), bytes(&[1, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(argument("f32:-1.5"), bytes(&[0, 0, 0xC0, 0xBF]));
    assert_eq!(argument("bytes:00fFA1"), bytes(&[0, 255, 0xA1]));
    assert_eq!(argument("bytes:"), bytes(&[]));
    assert_eq!(argument("q"), Ok(Argument::Buffer("q".into())));
}

#[test]
fn wrong_arguments_say_what_they_should_be() {
    let value = |text: &str, ty| {
        let text = text.to_owned();
        Err(GrammarError::Value { text, ty })
    };
    assert_eq!(argument("u32:4294967296"), value("4294967296", "u32"));
    assert_eq!(argument("u32:-1"), value("-1", "u32"));
    assert_eq!(argument("u32:0x+1"), value("0x+1", "u32"));
    assert_eq!(argument("u64:1.0"), value("1.0", "u64"));
    assert_eq!(argument("f32:one"), value("one", "f32"));
    let hex = |text: &str| {
        let text = text.to_owned();
        Err(GrammarError::Hex { text })
    };
    assert_eq!(argument("bytes:123"), hex("123"));
    assert_eq!(argument("bytes:0x12"), hex("0x12"));
    let ty = "f64".to_owned();
    assert_eq!(argument("f64:1"), Err(GrammarError::Type { ty }));
    let name = String::new();
    assert_eq!(argument(""), Err(GrammarError::Name { name }));
}

#[test]
fn an_output_goes_to_a_file() {
    let output = |text: &str| text.parse::<Output>();
    assert_eq!(
        output("o=o.bin"),
        Ok(Output {
            buffer: "o".into(),
            file: PathBuf::from("o.bin"),
        })
    );
    assert_eq!(output("o="), Err(GrammarError::NoFile));
    let error = output("o.bin").map_err(|error| error.to_string());
    assert_eq!(
        error,
        Err("\"o.bin\" has no `=` between a buffer's name and a file".into())
    );
}
