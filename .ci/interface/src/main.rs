//! Prints the public interface of a crate, one item a line, from the JSON of rustdoc. Leaves out
//! the implementations that the compiler derives.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name the JSON file that rustdoc has written")?;
    let interface = public_api::Builder::from_rustdoc_json(path)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    print!("{interface}");
    Ok(())
}
