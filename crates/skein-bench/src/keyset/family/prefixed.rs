//! Masstree's decimal keys behind a common prefix (its figure 9).

use super::numbered::numbered;
use super::{FamilyParameter, KeyFamily, KeyRequest, KeySource, NameSuffix, PaperFigures};

const ABOUT: &str = "P bytes that are the same in every key (the digits 0 to 9 over and over), \
                     then 8 random decimal digits";

pub static PREFIXED: KeyFamily = KeyFamily::new("prefixed", ABOUT, |request| Ok(open(request)))
    .taking(NameSuffix::Numbers(&[FamilyParameter { name: "P", least: 0, most: 65_527 }]), "prefixed(40)")
    .papers(&[PaperFigures::count("Masstree, section 6.4 (P is 0 to 40)", 80_000_000)]);

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    let prefix: Vec<u8> = (b'0'..=b'9').cycle().take(request.numbers[0] as usize).collect();
    numbered(request, 100_000_000, move |number, key| {
        key.extend(&prefix);
        key.extend(format!("{number:08}").as_bytes());
    })
}
