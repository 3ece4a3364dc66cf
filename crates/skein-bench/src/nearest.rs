//! What somebody may have meant who wrote a name that is not there.

/// From this likeness on, of 0 to 1, a name is worth a question.
const ALIKE: f64 = 0.7;

/// A question to be put behind an error, with the known name that is most like this one; empty if none is.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    let likeness = |known: &&str| strsim::jaro(name, known);
    let best =
        known.iter().map(|known| (likeness(known), *known)).max_by(|one, other| one.0.total_cmp(&other.0));
    match best {
        Some((alike, known)) if alike > ALIKE => format!("; did you mean '{known}'?"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_seen_and_others_are_not() {
        let known = ["masstree-fig8", "masstree-fig13", "scan-100", "lookup"];
        for (name, meant) in [
            ("masstree-fig-13", "masstree-fig13"),
            ("masstree_fig8", "masstree-fig8"),
            ("scan100", "scan-100"),
            ("lokup", "lookup"),
        ] {
            assert_eq!(did_you_mean(name, &known), format!("; did you mean '{meant}'?"));
        }
        for name in ["", "xyzzy", "7"] {
            assert_eq!(did_you_mean(name, &known), "");
        }
        assert_eq!(did_you_mean("lookup", &[]), "");
    }
}
